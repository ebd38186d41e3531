package host

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/tiergate/tiergate/policy/internal/rewrite"
)

// fuelSlice is how many steps run between two looks at the clock.
const fuelSlice = 20_000

const pageSize = 65536

// Instance evaluates one input at a time; it is not safe for concurrent use. After an error it must be closed: a module
// that was left in the middle keeps its C stack moved, and 511 such evaluations would poison it for good.
type Instance struct {
	module *Module
	mod    api.Module
	mem    api.Memory
	eval   evaluation

	fuel, fault   api.MutableGlobal
	setHeap       api.Function
	evaluate      api.Function
	malloc, parse api.Function
	stack         [1]uint64
	enc           encoder
	dec           decoder

	ints       uint32 // the shared small integers
	data, heap uint32 // the parsed data document, and the heap above it where every evaluation starts
	spent      int64
	builtinErr *Error
}

// Instantiate makes an instance with the data document parsed into its memory.
func (m *Module) Instantiate(ctx context.Context) (*Instance, error) {
	in := &Instance{module: m}
	in.eval = evaluation{Context: ctx, in: in}
	mod, err := m.host.runtime.InstantiateModule(&in.eval, m.compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return nil, failed(err)
	}
	in.mod, in.mem = mod, mod.Memory()
	in.fuel = mod.ExportedGlobal(rewrite.FuelExport).(api.MutableGlobal)
	in.fault = mod.ExportedGlobal(rewrite.FaultExport).(api.MutableGlobal)
	in.setHeap, in.evaluate = mod.ExportedFunction("opa_heap_ptr_set"), mod.ExportedFunction("eval")
	in.malloc = mod.ExportedFunction("opa_malloc")
	in.parse = mod.ExportedFunction("opa_value_parse")
	if err := in.loadData(); err != nil {
		_ = mod.Close(ctx)
		return nil, err
	}
	return in, nil
}

func (in *Instance) loadData() error {
	in.fuel.Set(fuelSlice)
	addr, err := in.write(in.module.data)
	if err != nil {
		return fmt.Errorf("store data: %w", err)
	}
	if in.data, err = in.call(in.parse, uint64(addr), uint64(len(in.module.data))); err != nil {
		return fmt.Errorf("parse data: %w", err)
	}
	if in.data == 0 {
		return fmt.Errorf("parse data: %w", &Error{Kind: ErrTrap, Detail: "it is not a JSON document"})
	}
	if in.heap, err = in.call(in.mod.ExportedFunction("opa_heap_ptr_get")); err != nil {
		return err
	}
	return in.shareIntegers()
}

// shareIntegers writes the small integers that every input shares, at the bottom of the heap.
func (in *Instance) shareIntegers() error {
	in.enc.in = in
	in.enc.view()
	in.enc.next, in.enc.err = in.heap, nil
	first := in.enc.integer(0)
	for n := int64(1); n < sharedInts; n++ {
		in.enc.integer(n)
	}
	in.ints, in.heap = first, (in.enc.next+7)&^7
	return in.enc.err
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

// call runs an exported function that returns one i32.
func (in *Instance) call(fn api.Function, args ...uint64) (uint32, error) {
	var stack [2]uint64
	copy(stack[:], args)
	if err := fn.CallWithStack(&in.eval, stack[:]); err != nil {
		return 0, failed(err)
	}
	return uint32(stack[0]), nil
}

// Eval evaluates an entry point over a JSON input and appends the result as JSON to dst; defined is false where there is
// none. The input must be valid JSON without duplicate keys, or empty for none. Beyond growing dst a successful call
// allocates nothing.
func (in *Instance) Eval(ctx context.Context, entrypoint int32, input, dst []byte) (out []byte, defined bool, err error) {
	in.begin(ctx)
	addr, end := uint32(0), in.heap
	if len(input) > 0 {
		if addr, end, err = in.enc.encode(in.heap, input); err != nil {
			return dst, false, err
		}
	}
	result, err := in.run(entrypoint, addr, end)
	if err != nil || result == 0 {
		return dst, false, err
	}
	d := &in.dec
	d.mem, _ = in.mem.Read(0, in.mem.Size())
	d.out, d.entries, d.err = dst, d.entries[:0], nil
	d.value(result, 0)
	if d.err != nil {
		return dst, false, &Error{Kind: ErrTrap, Detail: "the result is malformed: " + d.err.Error()}
	}
	return d.out, true, nil
}

// begin sets the deadline and the fuel of the evaluation that follows.
func (in *Instance) begin(ctx context.Context) {
	in.eval.Context, in.spent, in.builtinErr = ctx, 0, nil
	in.fuel.Set(fuelSlice)
	in.fault.Set(0)
}

// run evaluates over a value in memory, with the module's heap starting at end, and returns the address of the result, 0
// where it is undefined. It does what the module's own opa_eval does, without its parsing and printing.
func (in *Instance) run(entrypoint int32, input, end uint32) (uint32, error) {
	evalCtx := end
	if err := in.reserve(uint64(end) + evalCtxBytes); err != nil {
		return 0, err
	}
	for i, v := range [...]uint32{input, in.data, 0, uint32(entrypoint)} {
		in.mem.WriteUint32Le(evalCtx+uint32(i)*4, v)
	}
	in.stack[0] = uint64(end + evalCtxBytes)
	if err := in.setHeap.CallWithStack(&in.eval, in.stack[:]); err != nil {
		return 0, failed(err)
	}
	in.stack[0] = uint64(evalCtx)
	if err := in.evaluate.CallWithStack(&in.eval, in.stack[:]); err != nil {
		return 0, failed(err)
	}
	if err := in.builtinFault(); err != nil {
		return 0, err
	}
	results, _ := in.mem.ReadUint32Le(evalCtx + 8)
	return in.binding(results), nil
}

// evalCtxBytes is the size of the runtime's opa_eval_ctx_t {input, data, result, entrypoint}.
const evalCtxBytes = 16

// binding returns X of the result set {{"result": X}}, or 0 if the set is empty.
func (in *Instance) binding(set uint32) uint32 {
	return in.only(in.only(set, 0), 4)
}

// only returns the word at offset in the only element of an object or set.
func (in *Instance) only(hashed, offset uint32) uint32 {
	if hashed == 0 {
		return 0
	}
	buckets, n := in.u32(hashed+4), in.u32(hashed+8)
	for i := range n {
		if elem := in.u32(buckets + i*4); elem != 0 {
			return in.u32(elem + offset)
		}
	}
	return 0
}

func (in *Instance) reserve(end uint64) error {
	if size := uint64(in.mem.Size()); end > size {
		pages := (end - size + pageSize - 1) / pageSize
		if _, ok := in.mem.Grow(uint32(pages)); !ok {
			return &Error{Kind: ErrMemory, Detail: fmt.Sprintf("the input alone needs %d of %d pages of 64 KiB",
				(end+pageSize-1)/pageSize, in.module.limits.MaxPages)}
		}
	}
	return nil
}

// builtinFault reports the first builtin that failed, of the host's or of the module's own.
func (in *Instance) builtinFault() error {
	if in.builtinErr != nil {
		return in.builtinErr
	}
	site := uint32(in.fault.Get())
	if site == 0 {
		return nil
	}
	return in.module.builtins.siteError(in.module.sites[site-1])
}

// Oversized reports that the instance grew beyond what should be kept.
func (in *Instance) Oversized() bool { return in.mem.Size() > in.module.limits.RetirePages*pageSize }

// Close frees the instance.
func (in *Instance) Close(ctx context.Context) { _ = in.mod.Close(ctx) }
