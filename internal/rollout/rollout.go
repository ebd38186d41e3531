package rollout

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	// settle is how long files must stay as they are before a change counts: a checkout writes one after the other.
	settle time.Duration

	// trial is held while the sources are read and a candidate is tried, one at a time.
	trial sync.Mutex
	// put is what an administrator sent; nil if nobody did.
	put *remote
	// refused is the content that was refused last. Until it changes it is not tried again: a trial may take a minute.
	refused string

	mu     sync.Mutex // of what follows
	status v1.PolicyStatus
	counts map[string]int64 // trials by the stage at which they ended
}

// settleTime is the default of Rollout.settle.
const settleTime = 300 * time.Millisecond

// Open reads the sources and makes the engine. For a URL it takes the last good copy where there is one, so that a start does
// not depend on the network; Run then asks the server at once.
func Open(ctx context.Context, opts Options) (*Rollout, error) {
	opts.SetDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	r := &Rollout{opts: opts, settle: settleTime, counts: map[string]int64{}}
	for _, source := range opts.Sources {
		o := &origin{path: source, status: v1.PolicySource{Source: source}}
		if IsURL(source) {
			o.remote = newRemote(source, &r.opts)
			o.status.Source = o.remote.name
		}
		r.origins = append(r.origins, o)
	}
	fresh, err := r.recall(ctx)
	if err != nil {
		return nil, err
	}
	c, err := r.look(ctx, false)
	if err != nil {
		return nil, err
	}
	opts.Policy.Sources, opts.Policy.Data, opts.Policy.DataName = c.sources, c.data, opts.DataFile
	if r.engine, err = policy.New(ctx, opts.Policy); err != nil {
		return nil, err
	}
	if fresh && !opts.Untested {
		report := &v1.PolicyReport{}
		if r.test(ctx, c, report); report.Findings != nil {
			return nil, errors.Join(fmt.Errorf("policy: its own tests fail: %s", texts(report.Findings)), r.engine.Close(ctx))
		}
	}
	r.activated(c, &v1.PolicyReport{})
	return r, nil
}

// recall prepares what comes over a network, and tells whether some of it was never in force before.
func (r *Rollout) recall(ctx context.Context) (fresh bool, err error) {
	r.recallPut()
	var errs []error
	for _, o := range r.origins {
		if o.remote == nil {
			continue
		}
		if o.remote.recall() {
			if _, err := o.remote.open(); err == nil {
				continue
			}
			o.remote.packed = nil // a bad copy must not keep the service from starting
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
		if content := "unreadable: " + err.Error(); content != r.refused {
			r.refuse(content, &v1.PolicyReport{Stage: v1.StageRead, Time: r.now(), Findings: findings(err)})
		}
		return
	}
	if c.digest == r.Status().Content {
		r.withdrawn()
		return
	}
	if c.digest == r.refused || !r.settled(ctx, c) {
		return
	}
	r.change(ctx, c, nil)
}

// settled tells whether the sources still hold what they held a moment ago.
func (r *Rollout) settled(ctx context.Context, c *content) bool {
	timer := time.NewTimer(r.settle)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	}
	again, err := r.look(ctx, false)
	return err == nil && again.digest == c.digest
}

// change tries a content and puts it in force if it passes. It needs the trial.
func (r *Rollout) change(ctx context.Context, c *content, accepted []string) *v1.PolicyReport {
	candidate, report := r.try(ctx, c, accepted)
	free := context.WithoutCancel(ctx)
	if candidate != nil {
		defer candidate.Close(free) //nolint:errcheck // freeing has no failure that a reader could act on
	}
	switch {
	case report.Refused() && ctx.Err() == nil:
		r.refuse(c.digest, report)
		fallthrough
	case report.Refused():
		return report
	}
	_ = r.engine.Activate(free, candidate)
	r.refused = ""
	r.activated(c, report)
	return report
}
