package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

var errDisconnected = errors.New("there is no connection to NATS, or it was lost")

// dialTimeout is for one server. While the client waits for one that is silent, it can do nothing else.
const dialTimeout = 5 * time.Second

// link tells how the connection fares.
type link struct {
	// reconnected has a token after the connection came back.
	reconnected chan struct{}
	calls       sync.WaitGroup

	mu sync.Mutex
	// session lasts as long as the connection, and has ended while there is none.
	session context.Context //nolint:containedctx // that is what it is for
	end     context.CancelFunc
}

func newLink() *link {
	l := &link{reconnected: make(chan struct{}, 1)}
	l.session, l.end = context.WithCancel(context.Background())
	return l
}

func (l *link) down() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
}

func (l *link) up() {
	l.mu.Lock()
	l.session, l.end = context.WithCancel(context.Background())
	l.mu.Unlock()
	select {
	case l.reconnected <- struct{}{}:
	default:
	}
}

// whileUp runs a call until it returns, its context ends or the connection is lost: what was asked over a lost one is never
// answered, and the client does not look at contexts while it connects.
func (l *link) whileUp(ctx context.Context, call func(context.Context) error) error {
	l.mu.Lock()
	session := l.session
	l.mu.Unlock()
	if session.Err() != nil {
		return errDisconnected
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(session, func() { cancel(errDisconnected) })()
	returned := make(chan error, 1)
	l.calls.Go(func() { returned <- call(ctx) })
	select {
	case err := <-returned:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// connectOptions never give up on a cluster that was reached once: until it is back, writes fail and waiters time out.
func (j *NATS) connectOptions() ([]nats.Option, error) {
	log := j.opts.Logger
	options := []nats.Option{
		nats.Name("tiergate"), nats.Timeout(min(j.opts.Timeout, dialTimeout)), nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond), nats.ReconnectJitter(250*time.Millisecond, time.Second),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2), nats.IgnoreAuthErrorAbort(),
		// What could not be sent is not kept for later: whoever wrote it was told so, and tries again.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(c *nats.Conn, err error) {
			j.down()
			if !c.IsClosed() {
				log.Warn("NATS connection lost", "error", err)
			}
		}),
		nats.ReconnectHandler(func(c *nats.Conn) {
			j.up()
			log.Info("NATS connection is back", "server", c.ConnectedUrlRedacted())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Warn("NATS connection", "error", err) }),
	}
	if j.opts.Credentials != "" {
		if _, err := os.Stat(j.opts.Credentials); err != nil {
			return nil, fmt.Errorf("NATS credentials: %w", err)
		}
		options = append(options, nats.UserCredentials(j.opts.Credentials))
	}
	if j.opts.CA == "" && j.opts.Cert == "" {
		return options, nil
	}
	return append(options, j.encryption()), nil
}
