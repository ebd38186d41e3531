package host

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

const pageSize = 65536

// call runs an exported function that returns one i32.
func (in *Instance) call(fn api.Function, args ...uint64) (uint32, error) {
	var stack [2]uint64
	copy(stack[:], args)
	if err := fn.CallWithStack(&in.eval, stack[:]); err != nil {
		return 0, failed(err)
	}
	return uint32(stack[0]), nil
}

// memory is the module's memory as it is now; it moves when it grows.
func (in *Instance) memory() []byte {
	b, _ := in.mem.Read(0, in.mem.Size())
	return b
}

// write copies b into fresh memory of the module.
func (in *Instance) write(b []byte) (uint32, error) {
	addr, err := in.call(in.malloc, uint64(len(b)))
	if err != nil {
		return 0, err
	}
	if !in.mem.Write(addr, b) {
		return 0, &Error{Kind: ErrTrap, Detail: "malloc gave memory out of bounds"}
	}
	return addr, nil
}

// reserve makes the memory reach to end, and to want if the maximum allows. What lies at from and above is lost. The
// module itself must grow it: its allocator only knows of memory that it asked for, and would ask again for what the
// host added.
func (in *Instance) reserve(from uint32, end, want uint64) error {
	size, limit := uint64(in.mem.Size()), uint64(in.module.limits.MaxPages)*pageSize
	if end <= size {
		return nil
	}
	// The allocator puts a header before the block and asks for whole pages, one more than needed at worst.
	const overhead = 2 * pageSize
	if want+overhead > limit {
		want = end
	}
	if want+overhead > limit {
		return &Error{Kind: ErrMemory, Detail: fmt.Sprintf("the input alone needs %d of %d pages of 64 KiB",
			(end+overhead)/pageSize, in.module.limits.MaxPages)}
	}
	from = max(from, uint32(size-16))
	if _, err := in.call(in.setHeap, uint64(from)); err != nil {
		return err
	}
	_, err := in.call(in.malloc, want-uint64(from))
	return err
}

func (in *Instance) u32(addr uint32) uint32 {
	v, _ := in.mem.ReadUint32Le(addr)
	return v
}

// cString reads the zero-terminated string at addr.
func cString(mem api.Memory, addr uint32) string {
	size := mem.Size()
	if addr >= size {
		return "unreadable message"
	}
	b, _ := mem.Read(addr, size-addr)
	if n := bytes.IndexByte(b, 0); n >= 0 {
		return string(b[:n])
	}
	return "unterminated message"
}

// word reads four bytes of memory, and false where there are none.
func word(mem []byte, addr uint32) (uint32, bool) {
	if uint64(addr)+4 > uint64(len(mem)) {
		return 0, false
	}
	return binary.LittleEndian.Uint32(mem[addr:]), true
}
