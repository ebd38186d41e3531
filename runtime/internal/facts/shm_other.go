//go:build !linux

package facts

import (
	"errors"
	"syscall"
)

// sharedMemory says that there is none: engines run on Linux, and elsewhere the command line judges launches only.
func (r *reading) sharedMemory([]mount) {
	r.absent(errors.New("/dev/shm is read on Linux only"), "shm")
}

func errnoName(syscall.Errno) string { return "" }
