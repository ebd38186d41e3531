package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tiergate/tiergate/api/client"
	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/cli/output"
	"github.com/tiergate/tiergate/topology"
)

const (
	// redrawn is how often a terminal is told, repeated how often a log is while nothing changes.
	redrawn  = time.Second
	repeated = 10 * time.Second
	// viewed bounds how long it may take to find out which nodes the others are on.
	viewed = time.Second
)

// progress shows who is here, who is missing and how long is left: redrawn in place on a terminal, else line by line.
type progress struct {
	r     *registering
	out   io.Writer
	live  *output.Live
	began time.Time

	mu      sync.Mutex
	last    *v1.Progress
	heardAt time.Time
	changed chan struct{}
}

func newProgress(a *app, r *registering) *progress {
	p := &progress{r: r, out: a.stderr, began: time.Now(), changed: make(chan struct{}, 1)}
	if !r.verbose { // log lines would come between
		p.live = output.NewLive(a.stderr, a.env)
	}
	return p
}

// heard takes what the service told one of the ranks. An answer that was overtaken by that of another rank is left out.
func (p *progress) heard(told v1.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heardAt = time.Now()
	overtaken := p.last != nil && p.last.AttemptID == told.AttemptID && p.last.Phase == v1.PhaseProbe && told.Phase == v1.PhaseReport
	if overtaken {
		return
	}
	news := p.last == nil || p.last.AttemptID != told.AttemptID || p.last.Phase != told.Phase
	p.last = &told
	if news {
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
}

// run shows until the context ends.
func (p *progress) run(ctx context.Context) {
	every := repeated
	if p.live != nil {
		every = redrawn
		defer p.live.Erase()
	} else {
		fmt.Fprintf(p.out, "tiergate register: engine %s: %s of %d report to %s, for up to %s\n", p.r.engine,
			topology.RankList(p.r.ranks), p.r.world, p.r.server, p.r.deadline)
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if p.live != nil {
			p.live.Draw(p.waiting(ctx))
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-p.changed:
			ticker.Reset(every)
		}
		if p.live == nil {
			fmt.Fprintf(p.out, "tiergate register: %s\n", p.waiting(ctx).Line())
		}
	}
}

// waiting is what is known now.
func (p *progress) waiting(ctx context.Context) *output.Waiting {
	p.mu.Lock()
	w := &output.Waiting{
		Engine: p.r.engine, Server: p.r.server, World: p.r.world, Progress: p.last,
		Left: p.r.deadline - time.Since(p.began), Silent: time.Since(p.began),
	}
	if p.last != nil {
		w.Silent = time.Since(p.heardAt)
		w.Left = time.Duration(p.last.RemainingMS)*time.Millisecond - w.Silent
	}
	p.mu.Unlock()
	if w.Progress != nil && p.live != nil { // for people: all processes of a large engine would ask for a lot
		w.View = p.r.view(ctx, w.Progress.Attempt)
	}
	return w
}

// view asks for an attempt with the nodes of its ranks. They are for people only, so that nothing depends on an answer.
func (r *registering) view(ctx context.Context, n int64) *v1.AttemptView {
	c, err := client.NewWith(r.server, r.shown)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, viewed)
	defer cancel()
	view, err := c.Attempt(ctx, r.engine, n)
	if err != nil {
		return nil
	}
	return view
}
