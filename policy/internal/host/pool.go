package host

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// ErrClosed is returned by a pool after Close.
var ErrClosed = errors.New("pool is closed")

// Pool holds the instances of one module: at most one per processor, made when first needed, since more would only
// take turns on the same cores. It is safe for concurrent use.
type Pool struct {
	module *Module
	// free holds a token per allowed instance: an idle one, or nil for one that is not made yet.
	free chan *Instance

	closeOnce sync.Once
	closed    chan struct{}
}

// NewPool returns a pool of size instances, made on demand; size 0 means GOMAXPROCS.
func NewPool(m *Module, size int) *Pool {
	if size <= 0 {
		size = runtime.GOMAXPROCS(0)
	}
	p := &Pool{module: m, free: make(chan *Instance, size), closed: make(chan struct{})}
	for range size {
		p.free <- nil
	}
	return p
}

// Eval evaluates on the next free instance and appends the result to dst. It waits for one as long as ctx allows. An
// undefined result is reported by defined being false.
func (p *Pool) Eval(ctx context.Context, entrypoint int32, input, dst []byte) (out []byte, defined bool, err error) {
	// An evaluation never blocks, so goroutines that only evaluate would starve those that read the network; where others
	// evaluate too, yielding here once cuts the tail latency of a saturated service several times.
	if len(p.free) < cap(p.free) {
		runtime.Gosched()
	}
	in, err := p.take(ctx)
	if err != nil {
		return dst, false, err
	}
	good := false
	defer func() { p.put(in, good) }()
	if in == nil {
		if in, err = p.module.Instantiate(ctx); err != nil {
			return dst, false, err
		}
	}
	out, defined, err = in.Eval(ctx, entrypoint, input, dst)
	good = err == nil
	return out, defined, err
}

func (p *Pool) take(ctx context.Context) (*Instance, error) {
	select {
	case <-p.closed:
		return nil, ErrClosed
	default:
	}
	if ctx.Err() != nil { // which the choice below may pass over
		return nil, deadline(ctx)
	}
	select {
	case in := <-p.free:
		return in, nil
	case <-ctx.Done():
		return nil, deadline(ctx)
	case <-p.closed:
		return nil, ErrClosed
	}
}

// put gives the token back; an instance that is not good any more or grew too large is thrown away and made anew when
// needed.
func (p *Pool) put(in *Instance, good bool) {
	if in != nil && (!good || in.Oversized()) {
		in.Close(context.Background())
		in = nil
	}
	p.free <- in
}

// Close waits for the evaluations under way, frees the instances and then the module.
func (p *Pool) Close(ctx context.Context) error {
	err := ErrClosed
	p.closeOnce.Do(func() {
		close(p.closed)
		for range cap(p.free) {
			if in := <-p.free; in != nil {
				in.Close(ctx)
			}
		}
		err = p.module.Close(ctx)
	})
	return err
}
