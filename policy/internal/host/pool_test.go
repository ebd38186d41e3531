package host

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const poolPolicy = `package p

double := input.n * 2

endless := count([1 | some a in r; some b in r; some c in r; a + b + c == -1])
r := numbers.range(1, 100000)

conflict := 1 if input.n
conflict := 2 if input.n

size := count(input.text)
`

func newPool(t *testing.T, limits Limits, size int) *Pool {
	t.Helper()
	entrypoints := []string{"p/double", "p/endless", "p/conflict", "p/size"}
	return NewPool(loadModule(t, limits, "{}", entrypoints, poolPolicy), size)
}

// ask evaluates one of the entry points of poolPolicy.
func ask(ctx context.Context, p *Pool, name, input string) (string, error) {
	id, _ := p.module.Entrypoint("p/" + name)
	out, _, err := p.Eval(ctx, id, []byte(input), nil)
	return string(out), err
}

// idle returns the instance that waits in a pool of one, nil if none was made yet.
func idle(p *Pool) *Instance {
	in := <-p.free
	p.free <- in
	return in
}

func TestPoolConcurrently(t *testing.T) {
	p := newPool(t, roomy, 2)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 100 {
				n := worker*1000 + i
				if i%10 == 0 {
					_, err := ask(t.Context(), p, "conflict", `{"n":1}`)
					assert.ErrorIs(t, err, ErrConflict)
				}
				out, err := ask(t.Context(), p, "double", fmt.Sprintf(`{"n":%d}`, n))
				assert.NoError(t, err)
				assert.Equal(t, fmt.Sprint(2*n), out)
			}
		})
	}
	all.Wait()
	require.NoError(t, p.Close(t.Context()))
}

func TestPoolKeepsAndReplaces(t *testing.T) {
	limits := roomy
	limits.RetirePages = 8
	p := newPool(t, limits, 1)
	defer p.Close(t.Context()) //nolint:errcheck // frees
	assert.Nil(t, idle(p), "none is made before it is needed")
	_, err := ask(t.Context(), p, "double", `{"n":1}`)
	require.NoError(t, err)
	first := idle(p)
	require.NotNil(t, first)
	_, err = ask(t.Context(), p, "double", `{"n":1}`)
	require.NoError(t, err)
	assert.Same(t, first, idle(p))

	for name, input := range map[string]string{"conflict": `{"n":1}`, "double": `{"n":`} {
		_, err = ask(t.Context(), p, name, input)
		require.Error(t, err)
		assert.Nil(t, idle(p), "one that failed is thrown away")
	}
	out, err := ask(t.Context(), p, "size", `{"text":"`+strings.Repeat("x", 1<<20)+`"}`)
	require.NoError(t, err)
	assert.Equal(t, "1048576", out)
	assert.Nil(t, idle(p), "one that grew beyond RetirePages is replaced")
}

func TestPoolRespectsContexts(t *testing.T) {
	p := newPool(t, roomy, 1)
	defer p.Close(t.Context()) //nolint:errcheck // frees
	ended, cancel := context.WithCancelCause(t.Context())
	cause := fmt.Errorf("the client went away")
	cancel(cause)
	_, err := ask(ended, p, "double", `{"n":1}`)
	require.ErrorIs(t, err, ErrDeadline)
	assert.ErrorIs(t, err, cause)

	in := <-p.free // as if an evaluation had it
	short, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	_, err = ask(short, p, "double", `{"n":1}`)
	require.ErrorIs(t, err, ErrDeadline)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	p.free <- in

	running, cancelRunning := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancelRunning)
	_, err = ask(running, p, "endless", `{}`)
	require.ErrorIs(t, err, ErrDeadline)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestPoolCloses(t *testing.T) {
	p := newPool(t, roomy, 2)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := ask(ctx, p, "endless", `{}`)
		ended <- err
	}()
	require.Eventually(t, func() bool { return len(p.free) == 1 }, 5*time.Second, time.Millisecond)
	closed := make(chan error)
	go func() { closed <- p.Close(t.Context()) }()
	require.Eventually(t, func() bool { return isClosed(p) }, 5*time.Second, time.Millisecond)
	_, err := ask(t.Context(), p, "double", `{"n":1}`)
	require.ErrorIs(t, err, ErrClosed)
	select {
	case <-closed:
		assert.Fail(t, "closed before the evaluation ended")
	default:
	}
	cancel()
	require.ErrorIs(t, <-ended, ErrDeadline)
	require.NoError(t, <-closed)
	assert.ErrorIs(t, p.Close(t.Context()), ErrClosed)
}

func isClosed(p *Pool) bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// TestPoolSurvivesPanics: an instance in an unknown state must not come back, nor its place be lost.
func TestPoolSurvivesPanics(t *testing.T) {
	p := newPool(t, roomy, 1)
	defer p.Close(t.Context()) //nolint:errcheck // frees
	_, err := ask(t.Context(), p, "double", `{"n":1}`)
	require.NoError(t, err)
	idle(p).module = nil
	assert.Panics(t, func() { _, _ = ask(t.Context(), p, "double", `{"n":"`+strings.Repeat("x", 1<<20)+`"}`) })
	assert.Nil(t, idle(p))
	out, err := ask(t.Context(), p, "double", `{"n":2}`)
	require.NoError(t, err)
	assert.Equal(t, "4", out)
}

func TestEvaluationAllocatesNothing(t *testing.T) {
	m := loadModule(t, roomy, `{"constant":{"a":[1,2,3],"b":"text"}}`, []string{"p/q"}, `package p
q := {"sets": {x | some x in input.list}, "list": input.list, "keys": {[x]: x | some x in input.list},
	"constant": data.constant, "text": [$"number {x}\n" | some x in input.list]}`)
	p := NewPool(m, 1)
	defer p.Close(t.Context()) //nolint:errcheck // frees
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for _, n := range []int{1, 1000} {
		input := []byte(`{"list":[` + strings.Repeat(`"\u00e9",{"a\n":-1.5},70000,`, n) + `0]}`)
		var out []byte
		evaluate := func() {
			var err error
			if out, _, err = p.Eval(ctx, 0, input, out[:0]); err != nil {
				panic(err)
			}
		}
		evaluate()
		assert.Zero(t, testing.AllocsPerRun(20, evaluate), "%d rows, %d bytes of result", n, len(out))
	}
}
