package policy

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tiergate/tiergate/policy/internal/host"
)

// The defaults of Options.
const (
	DefaultMaxPages = 1024 // 64 MiB
	// DefaultVerdicts is how many verdicts are remembered.
	DefaultVerdicts = 512
	// DefaultBudget is some seconds of steps, far beyond any launch; it ends what has no deadline.
	DefaultBudget = 1 << 31
)

// Options configure an Engine. The zero value decides by the rules that ship.
type Options struct {
	// Sources add to the rules that ship.
	Sources []Source
	// Data is a further data document, JSON or YAML.
	Data []byte
	// DataName stands for Data in errors: its file.
	DataName string
	// CacheDir keeps compiled machine code between starts; empty keeps none.
	CacheDir string
	// Instances is how many evaluations run at once; 0 means GOMAXPROCS.
	Instances int
	// MaxPages is the most memory of one evaluation in pages of 64 KiB; 0 means DefaultMaxPages.
	MaxPages uint32
	// Budget is the most steps of one evaluation; 0 means DefaultBudget.
	Budget int64
	// Verdicts is how many verdicts are remembered by their digest; 0 means DefaultVerdicts, below 0 none.
	Verdicts int
	// Now is the clock behind input.now; nil means time.Now.
	Now func() time.Time
}

// SetDefaults fills in what is zero.
func (o *Options) SetDefaults() {
	if o.MaxPages == 0 {
		o.MaxPages = DefaultMaxPages
	}
	if o.Budget == 0 {
		o.Budget = DefaultBudget
	}
	if o.Verdicts == 0 {
		o.Verdicts = DefaultVerdicts
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Validate reports what no engine could run with.
func (o *Options) Validate() error {
	var errs []error
	if o.MaxPages < 16 || o.MaxPages > 65536 {
		errs = append(errs, fmt.Errorf("max pages is %d, allowed are 16 to 65536", o.MaxPages))
	}
	if o.Budget < 0 {
		errs = append(errs, fmt.Errorf("budget is %d, allowed is a positive number of steps", o.Budget))
	}
	if o.Instances < 0 {
		errs = append(errs, fmt.Errorf("instances is %d, allowed is 0 or more", o.Instances))
	}
	return errors.Join(errs...)
}

// Engine decides by the revision that is in force. It is safe for concurrent use.
type Engine struct {
	opts    Options
	host    *host.Host
	current atomic.Pointer[snapshot]
	steps   atomic.Int64
}

// Steps are those that all evaluations of the engine have taken, of every revision.
func (e *Engine) Steps() int64 { return e.steps.Load() }

// New loads the policy and returns an engine. What is wrong with the policy comes as Errors, all of it.
func New(ctx context.Context, opts Options) (*Engine, error) {
	opts.SetDefaults()
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("policy options: %w", err)
	}
	e, err := start(ctx, opts, opts.CacheDir)
	if errors.Is(err, host.ErrCompile) && opts.CacheDir != "" {
		// A damaged cache is the likeliest reason, and none to stay down.
		return start(ctx, opts, "")
	}
	return e, err
}

// start makes an engine whose machine code is kept in cacheDir.
func start(ctx context.Context, opts Options, cacheDir string) (*Engine, error) {
	h, err := host.New(ctx, cacheDir)
	if err != nil {
		return nil, fmt.Errorf("start wasm host: %w", err)
	}
	e := &Engine{opts: opts, host: h}
	if err := e.Swap(ctx, opts.Sources, opts.Data); err != nil {
		return nil, errors.Join(err, h.Close(ctx))
	}
	return e, nil
}

// Swap replaces the revision by one built from the shipped rules, sources and data. The new one is complete before any
// evaluation sees it; on an error the old one stays. Evaluations under way end on the revision that they began with.
func (e *Engine) Swap(ctx context.Context, sources []Source, data []byte) error {
	c, err := e.Prepare(ctx, sources, data)
	if err != nil {
		return err
	}
	return errors.Join(e.Activate(ctx, c), c.Close(ctx))
}

// Close ends the engine after the evaluations under way.
func (e *Engine) Close(ctx context.Context) error {
	var err error
	if old := e.current.Swap(nil); old != nil {
		err = old.release(ctx)
	}
	return errors.Join(err, e.host.Close(ctx))
}

// acquire returns the present revision with a reference that the caller releases.
func (e *Engine) acquire() (*snapshot, error) {
	for {
		s := e.current.Load()
		if s == nil {
			return nil, ErrClosed
		}
		if s.retain() {
			return s, nil
		}
	}
}

// Info describes the revision that is in force.
type Info struct {
	// Revision is short and for people; Digest is over module and data.
	Revision    string   `json:"revision"`
	Digest      string   `json:"digest"`
	Checks      []*Check `json:"checks"`
	Entrypoints []string `json:"entrypoints"`
}

// Info returns what is in force now. Its contents must not be changed.
func (e *Engine) Info() (Info, error) {
	s, err := e.acquire()
	if err != nil {
		return Info{}, err
	}
	defer s.release(context.Background()) //nolint:errcheck // freeing has no failure that a reader could act on
	return s.info(e.opts.Now()), nil
}

func (s *snapshot) info(now time.Time) Info {
	return Info{s.revision, digestText(s.digest), withExpiry(s.checks, now), s.entrypoints}
}
