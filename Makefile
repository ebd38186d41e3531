# README.md has the two commands of a newcomer; the rest is what CI and releases call.
.PHONY: build image test lint rules fuzz bench soak schemathesis library python wheel e2e-vllm

build:
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o bin/tiergate ./cmd/tiergate

# With buildah, around the Go of this machine, or in the image that BUILDER names.
image:
	tools/image

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

# Every fuzz target for FUZZTIME, one after the other.
FUZZTIME ?= 1m
fuzz:
	@for package in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x $$package || exit 1; \
		done; \
	done

# Prints what the project promises beside what it does, with the peers in the same run. Takes some minutes; numbers are
# worth something only on a machine that does nothing else.
bench: build
	go build -o bin/echodecode ./bench/cmd/echodecode
	go build -modfile=tools/go.mod -o bin/opa github.com/open-policy-agent/opa
	go run ./bench/cmd/table
	go run ./bench/cmd/load
	go run ./bench/cmd/load -same
	go run ./bench/cmd/start
	go run ./bench/cmd/collective
	go run ./bench/cmd/storm
	go test -run '^$$' -bench 'Collection|Evaluation|Encode|Decode' ./policy/internal/host

# Twice what one service can do, for SOAK_SECONDS and some warming up and calming down, beside clients that misbehave.
SOAK_SECONDS ?= 180
soak: build
	go run ./bench/cmd/soak -duration $(SOAK_SECONDS)s

# What the API's own description allows and forbids, sent to every endpoint of a service.
SCHEMATHESIS ?= .cache/schemathesis/bin/python
schemathesis: build
	test -x $(SCHEMATHESIS) || (python3 -m venv .cache/schemathesis && .cache/schemathesis/bin/pip install -q schemathesis==4.32.5)
	$(SCHEMATHESIS) e2e/openapi/run.py

library:
	CGO_ENABLED=1 go build -trimpath -ldflags "-s -w" -buildmode=c-shared -o bin/libtiergate.so ./cmd/libtiergate

# The Python package over the library, in processes of its own and against a real service.
python: build library
	PYTHONPATH=python python3 -m unittest discover -s python/tests

wheel:
	python3 -m pip wheel --no-deps -w bin ./python

# Engines of real vLLM; see docs/e2e-vllm.md. Without a Python that has it, some 10 GB are installed first.
VLLM_PYTHON ?= .cache/vllm/bin/python
e2e-vllm: build library
	test -x $(VLLM_PYTHON) || (python3 -m venv .cache/vllm && .cache/vllm/bin/pip install -q vllm)
	$(VLLM_PYTHON) e2e/vllm/parser.py bin/tiergate
	python3 e2e/vllm/run.py --python $(VLLM_PYTHON)
