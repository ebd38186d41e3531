# The two commands of a newcomer are in README.md; this file names what they and CI do.
.PHONY: build test lint rules fuzz bench

build:
	CGO_ENABLED=0 go build -trimpath -o bin/tiergate ./cmd/tiergate

test:
	go test ./...

lint:
	test -z "$$(go tool -modfile=tools/go.mod gofumpt -l . | tee /dev/stderr)"
	go vet ./...
	go tool -modfile=tools/go.mod staticcheck ./...

rules:
	go run ./cmd/tiergate policy fmt --check rego
	go run ./cmd/tiergate policy check
	go run ./cmd/tiergate policy test
