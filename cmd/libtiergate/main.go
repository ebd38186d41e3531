// Command libtiergate is the runtime as a C library; tiergate.h says what it offers and how to load it.
package main

/*
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
*/
import "C"

import (
	"log/slog"
	"os"
	"unsafe"

	"github.com/tiergate/tiergate/internal/bridge"
)

var calls = newCalls()

//export tiergate_begin
func tiergate_begin() C.uint64_t { return C.uint64_t(calls.begin()) }

//export tiergate_call
func tiergate_call(id C.uint64_t, request *C.char, length C.size_t) *C.char {
	ctx, end := calls.enter(uint64(id))
	defer end()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	answer := bridge.Do(ctx, C.GoBytes(unsafe.Pointer(request), C.int(length)), log)
	return C.CString(string(answer))
}

//export tiergate_cancel
func tiergate_cancel(id C.uint64_t) { calls.cancel(uint64(id)) }

//export tiergate_free
func tiergate_free(answer *C.char) { C.free(unsafe.Pointer(answer)) }

func main() {}
