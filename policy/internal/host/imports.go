package host

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/tiergate/tiergate/policy/internal/rewrite"
)

// provideImports defines the one host module that all instances import. A host function finds its instance in the context
// that the evaluation was called with, which wazero hands through untouched, so nothing is looked up or allocated.
func (h *Host) provideImports(ctx context.Context) error {
	i32 := api.ValueTypeI32
	b := h.runtime.NewHostModuleBuilder("env")
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(opaAbort), []api.ValueType{i32}, nil).Export("opa_abort")
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(opaPrintln), []api.ValueType{i32}, nil).
		Export("opa_println")
	for arity := range 5 {
		params := make([]api.ValueType, arity+2) // builtin id, a reserved context, the arguments
		for i := range params {
			params[i] = i32
		}
		call := func(ctx context.Context, _ api.Module, stack []uint64) {
			stack[0] = uint64(instanceOf(ctx).callBuiltin(uint32(stack[0]), stack[2:2+arity]))
		}
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(call), params, []api.ValueType{i32}).
			Export("opa_builtin" + strconv.Itoa(arity))
	}
	_, err := b.Instantiate(ctx)
	return err
}

// evaluation is the context of one instance's calls; it carries the caller's context by embedding.
type evaluation struct {
	context.Context
	in *Instance
}

func instanceOf(ctx context.Context) *Instance {
	if e, ok := ctx.(*evaluation); ok {
		return e.in
	}
	return nil
}

// opaAbort ends an evaluation with the module's message, or refills its fuel when the address is the sentinel.
func opaAbort(ctx context.Context, mod api.Module, stack []uint64) {
	if int32(stack[0]) == rewrite.Sentinel {
		if in := instanceOf(ctx); in != nil && in.fuel != nil {
			in.refill()
			return
		}
		// The start function runs before the instance is known; it is OPA's own and ends.
		mod.ExportedGlobal(rewrite.FuelExport).(api.MutableGlobal).Set(math.MaxInt32)
		return
	}
	panic(abort{abortError(cString(mod.Memory(), uint32(stack[0])))})
}

// refill gives the module its next slice of fuel. A slice is some hundred microseconds, which bounds how long a running
// evaluation can hold up the garbage collector and how late a deadline is seen.
func (in *Instance) refill() {
	in.spent += fuelSlice
	ctx := in.eval.Context
	at, limited := ctx.Deadline()
	switch {
	case ctx.Err() != nil, limited && time.Now().After(at):
		panic(abort{deadline(ctx)})
	case in.spent > in.module.limits.Budget:
		panic(abort{&Error{Kind: ErrBudget, Detail: "more than " + strconv.FormatInt(in.module.limits.Budget, 10) + " steps"}})
	}
	in.fuel.Set(fuelSlice)
}

// opaPrintln drops what print() writes: a policy's output has no place in a decision.
func opaPrintln(context.Context, api.Module, []uint64) {}

// abortError reads OPA's abort messages: "file:row:col: message" from rules, plain text from the C runtime.
func abortError(message string) *Error {
	out := &Error{Kind: ErrTrap, Detail: message}
	if file, rest, ok := strings.Cut(message, ":"); ok {
		if row, rest, ok := strings.Cut(rest, ":"); ok {
			if n, err := strconv.Atoi(row); err == nil {
				out.File, out.Row = file, n
				if _, text, ok := strings.Cut(rest, ": "); ok {
					out.Detail = text
				}
			}
		}
	}
	switch {
	case strings.Contains(message, "conflict"):
		out.Kind = ErrConflict
	case strings.Contains(message, "opa_malloc"):
		out.Kind = ErrMemory
	}
	return out
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
