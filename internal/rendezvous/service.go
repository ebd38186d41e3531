package rendezvous

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// MaxWorld is the largest engine that is gathered: what is written of it in one record must fit the journal.
const MaxWorld = 8192

// DefaultKeep is how long an ended attempt can be looked at.
const DefaultKeep = 15 * time.Minute

// Options are what a Service is made of.
type Options struct {
	Journal Journal
	// Decide has the launch that the reports of an engine make judged at registration, and returns the verdict as JSON.
	Decide func(context.Context, Key, *v1.Launch) ([]byte, error)
	Logger *slog.Logger
	// Solo: no other process uses the journal, so that nobody else can be serving an incarnation.
	Solo bool
	// Keep is how long an ended attempt can be looked at; 0 means DefaultKeep.
	Keep time.Duration
	// Observe is told what happens, for metrics.
	Observe Observer
}

// Observer has functions that are called when something happened, in any goroutine; nil ones are not called.
type Observer struct {
	// Ended gets every end that this process wrote. Code is an admission's. After is the time since the last rank reported.
	Ended func(kind, outcome, code string, disagreement bool, after time.Duration)
	// Concluded gets every end that this process wrote. The admission is nil unless it ended with one, and the verdict if there
	// was none.
	Concluded func(key Key, end *v1.AttemptEnd, admission *v1.Admission, verdict *v1.Verdict)
	// Decided gets the time that a verdict took.
	Decided func(time.Duration)
}

// SetDefaults fills in what is zero.
func (o *Options) SetDefaults() {
	if o.Keep == 0 {
		o.Keep = DefaultKeep
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Observe.Ended == nil {
		o.Observe.Ended = func(string, string, string, bool, time.Duration) {}
	}
	if o.Observe.Concluded == nil {
		o.Observe.Concluded = func(Key, *v1.AttemptEnd, *v1.Admission, *v1.Verdict) {}
	}
	if o.Observe.Decided == nil {
		o.Observe.Decided = func(time.Duration) {}
	}
}

// Validate reports what no service could run with.
func (o *Options) Validate() error {
	switch {
	case o.Journal == nil:
		return errors.New("a rendezvous needs a journal")
	case o.Decide == nil:
		return errors.New("a rendezvous needs somebody who decides")
	case o.Keep < time.Minute:
		return errors.New("ended attempts are kept for less than a minute; ranks that ask again would find nothing")
	}
	return nil
}

// Service serves the ranks of all engines. Its methods are safe for concurrent use once Run runs.
type Service struct {
	opts     Options
	deciding chan struct{} // a place for each verdict in the making

	mu      sync.Mutex
	engines map[Key]*engine
	// awaited are records that somebody here is writing, by key.
	awaited map[string]*awaited
	ready   bool
	base    context.Context // of what Run owns; nil unless it runs
	tasks   sync.WaitGroup
	waiting int
	changed map[Key]chan struct{}
}

// New returns a service that does not run yet.
func New(opts Options) (*Service, error) {
	opts.SetDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	return &Service{
		opts: opts, deciding: make(chan struct{}, maxDeciding), engines: map[Key]*engine{}, awaited: map[string]*awaited{},
		changed: map[Key]chan struct{}{},
	}, nil
}
