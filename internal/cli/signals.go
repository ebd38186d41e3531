package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return "interrupted by signal: " + i.signal.String() }

// status is the one by which shells know processes that a signal ended.
func (i interrupted) status() Status { return Status(128 + int(i.signal)) }

// WithSignals returns a context that SIGINT and SIGTERM end. After the first of them signals do what they do by default, so
// that a second one ends a process that is slow to leave. Stop gives them back at once.
func WithSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(signals)
		select {
		case got := <-signals:
			cancel(interrupted{got.(syscall.Signal)}) //nolint:forcetypeassert // on every system that there is
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel(context.Canceled)
		<-done
	}
}
