package rollout

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
)

// Rollout keeps an engine at what its sources say. Its methods are safe for concurrent use.
type Rollout struct {
	opts    Options
	engine  *policy.Engine
	origins []*origin
	// settle waits as long as files must stay as they are before a change counts: a checkout writes one after the other.
	settle func(context.Context)

	// trial is held while the sources are read and a candidate is tried, one at a time.
	trial sync.Mutex
	// preview is held while a policy is tried that is not to be put in force. It waits for no source.
	preview sync.Mutex
	// put is what an administrator sent; nil if nobody did.
	put *remote
	// refused is the content.trial that was refused last. Until it changes it is not tried again: a trial may take a minute.
	refused string

	mu     sync.Mutex // of what follows
	status v1.PolicyStatus
	counts map[string]int64 // trials by the stage at which they ended
}

// ErrTests: a service does not start by a policy that its own tests disprove.
var ErrTests = errors.New("policy: its own tests fail")

// settleTime is longer than writing some files takes, and short against a poll.
const settleTime = 300 * time.Millisecond

func settle(ctx context.Context) {
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Open reads the sources and makes the engine. For a URL it takes the last good copy where there is one, so that a start does
// not depend on the network; Run then asks the server at once.
func Open(ctx context.Context, opts Options) (*Rollout, error) {
	opts.SetDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	r := &Rollout{opts: opts, settle: settle, counts: map[string]int64{}}
	for _, source := range opts.Sources {
		o := &origin{path: source, status: v1.PolicySource{Source: source}}
		if IsURL(source) {
			o.remote = newRemote(source, &r.opts)
			o.status.Source = o.remote.name
		}
		r.origins = append(r.origins, o)
	}
	err := r.start(ctx, true)
	if err != nil && r.kept() {
		// A copy may be from before the rules that ship were changed; it must not keep the service down if there is a newer one.
		if again := r.start(ctx, false); again != nil {
			return nil, errors.Join(err, again)
		}
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// start makes the engine of what the sources hold, with copies of what is on servers or without.
func (r *Rollout) start(ctx context.Context, copies bool) error {
	fresh, err := r.recall(ctx, copies)
	if err != nil {
		return err
	}
	c, err := r.look(ctx, false)
	if err != nil {
		return err
	}
	ctx, cancel := r.limited(ctx)
	defer cancel()
	opts := r.opts.Policy
	opts.Sources, opts.Data, opts.DataName = c.sources, c.data, r.opts.DataFile
	engine, err := policy.New(ctx, opts)
	if err != nil {
		return err
	}
	if fresh && !r.opts.Untested {
		report := &v1.PolicyReport{}
		if r.test(ctx, c, report); report.Findings != nil {
			return errors.Join(fmt.Errorf("%w: %s", ErrTests, texts(report.Findings)), engine.Close(context.WithoutCancel(ctx)))
		}
	}
	r.engine = engine
	r.begun(c)
	return nil
}

// kept tells whether a copy stands in for a server.
func (r *Rollout) kept() bool {
	return slices.ContainsFunc(r.origins, func(o *origin) bool { return o.remote != nil && o.remote.kept })
}

// recall prepares what comes over a network, and tells whether some source was never tried here: what is on this machine may
// have changed while the service was down.
func (r *Rollout) recall(ctx context.Context, copies bool) (fresh bool, err error) {
	errs := []error{r.recallPut()}
	for _, o := range r.origins {
		if o.remote == nil {
			fresh = true
			continue
		}
		if copies && o.remote.recall() {
			if _, err := o.remote.open(); err == nil {
				continue
			}
			o.remote.packed, o.remote.kept = nil, false // a bad copy must not keep the service from starting
		}
		fresh = true
		errs = append(errs, o.remote.fetch(ctx))
	}
	return fresh, errors.Join(errs...)
}

// Engine is what is kept up to date. Close closes it.
func (r *Rollout) Engine() *policy.Engine { return r.engine }

// Close closes the engine, after the evaluations under way.
func (r *Rollout) Close(ctx context.Context) error { return r.engine.Close(ctx) }

// Run looks for changes until the context ends. URLs are asked at once.
func (r *Rollout) Run(ctx context.Context) {
	if r.opts.remote() {
		r.poll(ctx)
	}
	for {
		// Replicas that started together must not ask a server together for ever.
		timer := time.NewTimer(r.opts.Poll*9/10 + rand.N(r.opts.Poll/5+1))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			r.poll(ctx)
		}
	}
}

// poll tries what the sources hold, if that is neither in force nor refused already.
func (r *Rollout) poll(ctx context.Context) {
	r.trial.Lock()
	defer r.trial.Unlock()
	c, err := r.look(ctx, true)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		if unreadable := "unreadable: " + err.Error(); unreadable != r.refused && r.stays(ctx, unreadable) {
			r.refuse(unreadable, &v1.PolicyReport{Stage: v1.StageRead, Time: r.now(), Findings: findings(err)})
		}
		return
	}
	if c.digest == r.Status().Content {
		r.withdrawn()
		r.keep() // what is signed anew is another file of the same content, and a full disk may have room again
		return
	}
	if c.trial == r.refused || !r.stays(ctx, c.trial) {
		return
	}
	_, _ = r.change(ctx, c, nil, nil) // the report is kept in the status
}

// stays tells whether the sources hold after a moment what they held before, or are unreadable for the same reason.
func (r *Rollout) stays(ctx context.Context, trial string) bool {
	if r.settle(ctx); ctx.Err() != nil {
		return false
	}
	again, err := r.look(ctx, false)
	if err != nil {
		return trial == "unreadable: "+err.Error()
	}
	return trial == again.trial
}

// change tries a content, has it kept if it passes, and puts it in force. It needs the trial.
func (r *Rollout) change(ctx context.Context, c *content, accepted []string, keep func() error) (*v1.PolicyReport, error) {
	candidate, report := r.try(ctx, c, accepted)
	free := context.WithoutCancel(ctx)
	if candidate != nil {
		defer candidate.Close(free) //nolint:errcheck // freeing has no failure that a reader could act on
	}
	switch {
	case report.Refused() && ctx.Err() == nil:
		r.refuse(c.trial, report)
		fallthrough
	case report.Refused():
		return report, nil
	}
	if keep != nil {
		if err := keep(); err != nil {
			r.opts.Logger.Error("policy not put in force, because it cannot be kept", "revision", report.Revision, "error", err)
			return report, fmt.Errorf("%w: %w", ErrNotKept, err)
		}
	}
	_ = r.engine.Activate(free, candidate) // an error is one of freeing the old revision
	r.refused = ""
	r.activated(c, report)
	return report, nil
}
