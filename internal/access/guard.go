package access

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// DefaultInterval is how often the files are looked at.
const DefaultInterval = 5 * time.Second

// Error says why a request is not taken, with one of the codes of api/v1. It never holds a credential.
type Error struct {
	Code   string
	Detail string
	// RetryAfter is when the request may be sent again; 0 where that is of no use.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return e.Detail }

func unauthenticated(format string, args ...any) error {
	return &Error{Code: v1.CodeUnauthenticated, Detail: fmt.Sprintf(format, args...)}
}

// Options are what a Guard is made of.
type Options struct {
	// File is the access file.
	File string
	// Logger is told of reloads; nil tells nobody.
	Logger *slog.Logger
	// Interval is how often the file, and those that it names, are looked at; 0 means DefaultInterval.
	Interval time.Duration
}

// Count is how often something was done and failed, and when it was last done.
type Count struct {
	Successes, Failures uint64
	LastSuccess         time.Time
}

// State is how the files and the keys of a cluster, where these come from a URL, are kept up to date. Opening counts; a
// file that stays wrong counts once.
type State struct{ Reloads, Keys Count }

// Guard tells identities as an access file says. Its methods are safe for concurrent use.
type Guard struct {
	opts    Options
	now     func() time.Time
	rules   atomic.Pointer[rules]
	buckets *buckets

	mu      sync.Mutex
	reloads Count
	// tried is the digest of what was read last, right or wrong.
	tried [32]byte
}

// Open reads the access file; all its mistakes come in one error, each with its line. Keys of a cluster that cannot be
// fetched now are fetched when they are needed.
func Open(ctx context.Context, opts Options) (*Guard, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Interval == 0 {
		opts.Interval = DefaultInterval
	}
	g := &Guard{opts: opts, now: time.Now, buckets: newBuckets()}
	first, digest, err := load(opts.File, opts.Logger)
	if err != nil {
		return nil, err
	}
	g.tried = digest
	g.adopt(first)
	g.refreshKeys(ctx)
	return g, nil
}

// State tells how reloading fares, for metrics.
func (g *Guard) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	state := State{Reloads: g.reloads}
	if accounts := g.rules.Load().accounts; accounts != nil {
		state.Keys = accounts.keys.count()
	}
	return state
}

// Take counts a request against the limits of an identity. Errors are *Error.
func (g *Guard) Take(i *Identity) error { return g.buckets.take(i, g.now()) }
