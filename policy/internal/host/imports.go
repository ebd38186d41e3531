package host

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/tiergate/tiergate/policy/internal/rewrite"
)

// provideImports defines the one host module that all instances import. A host function finds its instance in the
// context that the evaluation was called with, which wazero hands through untouched, so nothing is looked up or
// allocated.
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

// Value hides the caller's values from wazero, some of which would change how it runs.
func (*evaluation) Value(key any) any { return settings.Value(key) }

func instanceOf(ctx context.Context) *Instance { return ctx.(*evaluation).in }

// opaAbort ends an evaluation with the module's message, or refills its fuel when the address is the sentinel.
func opaAbort(ctx context.Context, mod api.Module, stack []uint64) {
	switch int32(stack[0]) {
	case rewrite.Sentinel:
		instanceOf(ctx).refill()
		return
	case rewrite.TooDeep:
		panic(abort{&Error{Kind: ErrStack, Detail: fmt.Sprintf("a text to parse is nested deeper than %d", maxDepth)}})
	}
	panic(abort{abortError(cString(mod.Memory(), uint32(stack[0])))})
}

// fuelSlice is how many steps run between two looks at the clock: some ten microseconds mostly, and up to two
// milliseconds of arithmetic. It bounds how long a running evaluation can hold up the garbage collector and how late a
// deadline is seen.
const fuelSlice = 5_000

// refill gives the module its next slice of fuel.
func (in *Instance) refill() {
	in.lookAtClock()
	if in.budget -= fuelSlice; in.budget < 0 {
		panic(abort{&Error{Kind: ErrBudget, Detail: fmt.Sprintf("more than %d steps", in.module.limits.Budget)}})
	}
	in.fuelLeft.Set(fuelSlice)
}

// lookAtClock ends the evaluation if its time is over.
func (in *Instance) lookAtClock() {
	ctx := in.eval.Context
	if at, limited := ctx.Deadline(); ctx.Err() != nil || limited && time.Now().After(at) {
		panic(abort{deadline(ctx)})
	}
}

// opaPrintln drops what print() writes: a policy's output has no place in a decision.
func opaPrintln(context.Context, api.Module, []uint64) {}

// located matches the abort messages of rules, "file:row:column: message".
var located = regexp.MustCompile(`^(.+?):(\d+):\d+: (.*)$`)

// abortError reads OPA's abort messages: those of rules, and plain text from the C runtime.
func abortError(message string) *Error {
	out := &Error{Kind: ErrTrap, Detail: message}
	if m := located.FindStringSubmatch(message); m != nil {
		out.File, out.Detail = m[1], m[3]
		out.Row, _ = strconv.Atoi(m[2])
	}
	switch out.Detail {
	case "var assignment conflict", "object insert conflict":
		out.Kind = ErrConflict
	case "opa_malloc: failed":
		out.Kind = ErrMemory
	}
	return out
}
