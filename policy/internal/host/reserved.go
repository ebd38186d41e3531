package host

import (
	"context"

	"github.com/tetratelabs/wazero/experimental"
)

// settings are the values by which wazero knows what else to do than usual: a module's memory is a reserved range of
// addresses. The memory that wazero makes itself is copied as a whole when it grows, tens of milliseconds for large
// ones in which the garbage collector, and so every goroutine, must wait.
var settings = experimental.WithMemoryAllocator(context.Background(), experimental.MemoryAllocatorFunc(
	func(_, highest uint64) experimental.LinearMemory { return newMemory(highest) },
))

// copied is memory for where no range can be reserved.
type copied struct{ b []byte }

func (m *copied) Reallocate(size uint64) []byte {
	m.b = append(m.b, make([]byte, size-uint64(len(m.b)))...)
	return m.b
}

func (m *copied) Free() { m.b = nil }
