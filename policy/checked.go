package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// maxCheckTime is the longest that type check and compilation may take. A policy takes a tenth of a second; nothing
// needs this long but rules whose types grow in a way that refuseHugeTypes does not see.
const maxCheckTime = time.Minute

var errCheckTime = errors.New("checking took too long")

// checkedWasm type-checks and compiles, at the same time once the types are known to be of a size that can be checked,
// since a start waits for both. What the check finds comes first: it says more. OPA's compiler cannot be stopped, so that
// a failed check waits for it too, and only when the time is up it is left to itself.
func (p *parsed) checkedWasm(ctx context.Context, entrypoints []string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxCheckTime, errCheckTime)
	defer cancel()
	bounded, checked, compiled := make(chan struct{}), make(chan error, 1), make(chan error, 1)
	go func() { checked <- p.typeCheck(func() { close(bounded) }) }()
	select {
	case err := <-checked:
		if err != nil {
			return nil, err
		}
		checked <- nil
	case <-bounded:
	case <-ctx.Done():
		return nil, outOfTime(ctx)
	}
	var wasm []byte
	go func() {
		var err error
		wasm, err = p.compileWasm(ctx, entrypoints)
		compiled <- err
	}()
	var failed error
	for _, step := range []chan error{checked, compiled} {
		select {
		case err := <-step:
			failed = cmp.Or(failed, err)
		case <-ctx.Done():
			return nil, cmp.Or(failed, outOfTime(ctx))
		}
	}
	return wasm, failed
}

func outOfTime(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, errCheckTime) {
		return Errors{{Code: CodeCompile, Message: fmt.Sprintf("the policy is not checked after %s: OPA's type checker does not "+
			"end on rules that hold each other's values many times over; leave out the rules that were added last", maxCheckTime)}}
	}
	return fmt.Errorf("check policy: %w", cause)
}
