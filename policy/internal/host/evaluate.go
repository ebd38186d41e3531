package host

import "context"

// Eval evaluates an entry point over a JSON input and appends the result as JSON to dst; defined is false where there
// is none. An empty input is none at all. Errors are of type *Error; ErrInput says that the input is not JSON or has a
// name twice in one object. Beyond growing dst a successful call allocates nothing.
func (in *Instance) Eval(
	ctx context.Context, entrypoint int32, input, dst []byte,
) (out []byte, defined bool, err error) {
	in.begin(ctx)
	defer in.end()
	addr, end := uint32(0), in.heap
	if len(input) > 0 {
		if addr, end, err = in.enc.encode(in.heap, input); err != nil {
			return dst, false, err
		}
	}
	if _, err = in.run(entrypoint, addr, end); err == nil {
		err = in.fault()
	}
	if err != nil {
		return dst, false, err
	}
	result := in.binding()
	if result == 0 {
		return dst, false, nil
	}
	out, err = in.dec.decode(in.memory(), result, dst)
	return out, err == nil, err
}

// begin sets the deadline and the fuel of what follows.
func (in *Instance) begin(ctx context.Context) {
	in.eval.Context, in.budget, in.builtinErr = ctx, in.module.limits.Budget, nil
	in.fuelLeft.Set(fuelSlice)
	in.faultSite.Set(0)
	in.result.Set(0)
}

// end lets go of the caller's context and counts the steps that were taken.
func (in *Instance) end() {
	in.eval.Context = context.Background()
	if steps := in.module.limits.Steps; steps != nil {
		steps.Add(in.module.limits.Budget - in.budget + fuelSlice - int64(in.fuelLeft.Get()))
	}
}

// evalCtxBytes is the size of the runtime's opa_eval_ctx_t {input, data, result, entrypoint}.
const evalCtxBytes = 16

// run evaluates over a value in memory, with the module's heap starting at end, and returns the address of the set of
// results, which is empty where there is only one. It does what the module's own opa_eval does, without its parsing
// and printing.
func (in *Instance) run(entrypoint int32, input, end uint32) (uint32, error) {
	evalCtx := end
	if err := in.reserve(end, uint64(end)+evalCtxBytes, uint64(end)+evalCtxBytes); err != nil {
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
	return in.u32(evalCtx + 8), nil
}

// binding returns X of the first result {"result": X}, or 0 if there is none.
func (in *Instance) binding() uint32 { return in.only(uint32(in.result.Get()), 4) }

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

// fault reports the first builtin that failed, of the host's or of the module's own.
func (in *Instance) fault() error {
	if in.builtinErr != nil {
		return in.builtinErr
	}
	site := uint32(in.faultSite.Get())
	if site == 0 {
		return nil
	}
	return siteError(in.module.sites[site-1])
}
