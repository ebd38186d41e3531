package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return "interrupted by signal: " + i.signal.String() }

// status is the one by which shells know processes that a signal ended.
func (i interrupted) status() Status { return Status(128 + int(i.signal)) }

// WithSignals returns a context that SIGINT and SIGTERM end. A second one ends a process that is slow to leave at once, as it
// would have without this, after a line that says so. Stop gives the signals back at once.
func WithSignals(parent context.Context, stderr io.Writer) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	stopping, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(signals)
		select {
		case got := <-signals:
			cancel(interrupted{got.(syscall.Signal)}) //nolint:forcetypeassert // on every system that there is
		case <-stopping:
			return
		}
		select {
		case got := <-signals:
			fmt.Fprintf(stderr, "tiergate: %s again: ends at once, without finishing what is under way\n", got)
			signal.Reset(syscall.SIGINT, syscall.SIGTERM)
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Signal(got) // who waits for the process sees the signal
			}
		case <-stopping:
		}
	}()
	return ctx, func() {
		close(stopping)
		<-done
		cancel(context.Canceled)
	}
}
