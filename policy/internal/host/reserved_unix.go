//go:build linux || darwin

package host

import (
	"syscall"

	"github.com/tetratelabs/wazero/experimental"
)

// reserved is memory at addresses of its own, which take no room before they are used and grow where they are.
type reserved struct{ b []byte }

func newMemory(highest uint64) experimental.LinearMemory {
	const access = syscall.PROT_READ | syscall.PROT_WRITE
	b, err := syscall.Mmap(-1, 0, int(highest), access, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		return &copied{}
	}
	return &reserved{b}
}

func (m *reserved) Reallocate(size uint64) []byte {
	if size > uint64(len(m.b)) {
		return nil
	}
	return m.b[:size:size]
}

func (m *reserved) Free() {
	if m.b != nil {
		_ = syscall.Munmap(m.b) // it fails only for what is not mapped
		m.b = nil
	}
}
