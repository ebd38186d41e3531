//go:build !cgo

package main

import (
	"fmt"
	"os"
)

// Without a C compiler there is no library; `go build ./...` and `go test ./...` work all the same.
func main() {
	fmt.Fprintln(os.Stderr, "libtiergate is a C library: build it with CGO_ENABLED=1 and -buildmode=c-shared")
	os.Exit(2)
}
