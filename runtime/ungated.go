package runtime

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// courtesy is what the report of an engine that needs no admission may take.
const courtesy = time.Second

// ungated runs the callback at once. The report goes out beside it and is waited for at the end, at most until a second
// after the call began: the process may end right after, and nothing may be left behind. A service that is not there
// refuses at once, so that only one that does not answer delays anybody, and only a callback that takes less.
func (g *Gate) ungated(ctx context.Context, m *Membership, callback func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	telling, stop := context.WithTimeout(ctx, courtesy)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.mention(telling, m)
	}()
	defer func() { <-done }()
	return call(ctx, g.opts.Logger.With("engine", g.opts.Engine, "rank", m.Rank), callback)
}

// mention sends a report once. Its answer changes nothing.
func (g *Gate) mention(ctx context.Context, m *Membership) {
	r, err := g.registration(m)
	if err != nil {
		g.opts.Logger.Info("report not sent", "rank", m.Rank, "error", err)
		return
	}
	defer r.client.close()
	r.report.Facts = g.opts.Collect()
	r.report.DeadlineMS = g.opts.Deadline.Milliseconds()
	path := fmt.Sprintf("%s/ranks/%d?wait=0s", r.path, m.Rank)
	if _, _, err := r.client.send(ctx, http.MethodPut, path, &r.report, nil); err != nil {
		r.log.Info("report not sent", "error", err)
		return
	}
	r.log.Info("report sent")
}
