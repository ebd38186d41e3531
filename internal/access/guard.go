package access

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// DefaultInterval is how often the files are looked at.
const DefaultInterval = 5 * time.Second

// Error says why a request is not taken, with one of the codes of api/v1. It never holds a credential.
type Error struct {
	Code   string
	Detail string
	// RetryAfter is when an identity that asked too often may ask again.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return e.Detail }

func unauthenticated(format string, args ...any) error {
	return &Error{Code: v1.CodeUnauthenticated, Detail: fmt.Sprintf(format, args...)}
}

// Options are what a Guard is made of.
type Options struct {
	// File is the access file.
	File   string
	Logger *slog.Logger
	// Interval is how often the file, and those that it names, are looked at; 0 means DefaultInterval.
	Interval time.Duration
}

// State is how reloading fares.
type State struct {
	Reloads, Failures int64
	LastSuccess       time.Time
}

// Guard tells identities as an access file says. Its methods are safe for concurrent use.
type Guard struct {
	opts    Options
	now     func() time.Time
	rules   atomic.Pointer[rules]
	buckets *buckets

	reloads, failures, success atomic.Int64
	// said is why the last content was refused, so that it is logged once.
	said string
}

// Open reads the access file; all its mistakes come in one error, each with its line. Keys of a cluster that cannot be
// fetched now are fetched when somebody asks.
func Open(ctx context.Context, opts Options) (*Guard, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Interval == 0 {
		opts.Interval = DefaultInterval
	}
	g := &Guard{opts: opts, now: time.Now, buckets: newBuckets()}
	first, err := load(opts.File, nil)
	if err != nil {
		return nil, err
	}
	g.adopt(ctx, first)
	return g, nil
}

func (g *Guard) adopt(ctx context.Context, r *rules) {
	g.rules.Store(r)
	g.success.Store(g.now().UnixNano())
	g.refresh(ctx, r, 0)
}

// Run looks at the files until the context ends. A file that is wrong never replaces one that was right.
func (g *Guard) Run(ctx context.Context) {
	tick := time.NewTicker(g.opts.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			g.reload(ctx)
			g.refresh(ctx, g.rules.Load(), refreshAfter)
		}
	}
}

func (g *Guard) reload(ctx context.Context) {
	old := g.rules.Load()
	r, err := load(g.opts.File, old)
	switch {
	case err != nil && err.Error() == g.said:
	case err != nil:
		g.failures.Add(1)
		g.said = err.Error()
		g.opts.Logger.Error("access file not reloaded; what was read before stays in force", "file", g.opts.File, "error", err)
	case r.digest != old.digest:
		g.reloads.Add(1)
		g.adopt(ctx, r)
		g.opts.Logger.Info("access file reloaded", "file", g.opts.File)
		g.said = ""
	default:
		g.said = ""
	}
}

// refresh fetches the keys of a cluster, if those that are here are so old.
func (g *Guard) refresh(ctx context.Context, r *rules, age time.Duration) {
	if r.accounts == nil || r.accounts.keys.url == "" {
		return
	}
	k := r.accounts.keys
	if set := k.current.Load(); set != nil && g.now().Sub(set.read) < max(age, time.Second) {
		return
	}
	if err := k.fetch(ctx, fetchPause); err != nil && ctx.Err() == nil {
		g.opts.Logger.Warn("keys of the cluster not fetched", "url", k.url, "error", err)
	}
}

// State tells how reloading fares.
func (g *Guard) State() State {
	return State{Reloads: g.reloads.Load(), Failures: g.failures.Load(), LastSuccess: time.Unix(0, g.success.Load())}
}

// Identify tells who asks. A request with a bearer token is judged by it alone, so that a wrong one is noticed; else a verified
// client certificate counts, else the peer of a unix socket. Errors are *Error.
func (g *Guard) Identify(r *http.Request) (*Identity, error) {
	rules := g.rules.Load()
	if shown := r.Header.Values("Authorization"); len(shown) > 0 {
		return g.bearer(r.Context(), rules, shown)
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 && len(rules.certificates) > 0 {
		return rules.certificates.find(r.TLS.VerifiedChains[0][0])
	}
	if c, ok := r.Context().Value(peerKey{}).(*unix.Ucred); ok && len(rules.peers) > 0 {
		return rules.peers.find(c)
	}
	return nil, unauthenticated("no credentials were shown; %s", rules.taken())
}

func (g *Guard) bearer(ctx context.Context, rules *rules, shown []string) (*Identity, error) {
	scheme, token, _ := strings.Cut(shown[0], " ")
	token = strings.TrimLeft(token, " ")
	switch {
	case len(shown) > 1:
		return nil, unauthenticated("the request has %d Authorization headers; send one", len(shown))
	case !strings.EqualFold(scheme, "Bearer") || token == "":
		return nil, unauthenticated("the Authorization header has no bearer token; write Authorization: Bearer TOKEN")
	case len(token) > maxToken:
		return nil, unauthenticated("the bearer token has %d bytes; at most %d are looked at", len(token), maxToken)
	}
	if identity := rules.tokens.find(token); identity != nil {
		return identity, nil
	}
	h, signed := signedHeader(token)
	switch {
	case !signed || rules.accounts == nil:
		return nil, unauthenticated("no entry of the access file has this bearer token; %s", rules.taken())
	case !slices.Contains(algorithms, h.Algorithm):
		return nil, unauthenticated("the bearer token is signed by %.32q; allowed are %s", h.Algorithm, strings.Join(algorithms, ", "))
	}
	return rules.verified(ctx, token, h, g.now())
}

// Take counts a request against the limits of an identity. Errors are *Error.
func (g *Guard) Take(i *Identity) error { return g.buckets.take(i, g.now()) }
