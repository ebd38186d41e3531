package access

import (
	"context"
	"time"
)

// Run looks at the files until the context ends. A file that is wrong never replaces one that was right.
func (g *Guard) Run(ctx context.Context) {
	tick := time.NewTicker(g.opts.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			g.reload()
			g.refreshKeys(ctx)
		}
	}
}

// reload reads the files, and adopts what they hold if that changed and is right.
func (g *Guard) reload() {
	fresh, digest, err := load(g.opts.File, g.opts.Logger)
	if digest == g.tried {
		return
	}
	g.tried = digest
	log := g.opts.Logger.With("file", g.opts.File)
	switch {
	case err != nil:
		g.mu.Lock()
		g.reloads.Failures++
		g.mu.Unlock()
		log.Error("the access file cannot be reloaded; what was read before stays in force", "error", err)
	case digest == g.rules.Load().digest:
		log.Info("the access file is again what is in force")
	default:
		g.adopt(fresh)
		log.Info("access file reloaded")
	}
}

// adopt puts rules in force. Keys are kept if they come from where the last ones did, since the cluster may be out of reach.
func (g *Guard) adopt(fresh *rules) {
	if old := g.rules.Load(); old != nil && old.accounts != nil && fresh.accounts != nil {
		if a, b := fresh.accounts.keys, old.accounts.keys; a.url != "" && a.url == b.url && a.ca == b.ca && a.token == b.token {
			fresh.accounts.keys = b
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.rules.Store(fresh)
	g.reloads.Successes++
	g.reloads.LastSuccess = g.now()
}

// refreshKeys fetches the keys of a cluster again when they are due, so that one that it no longer has soon counts no more.
func (g *Guard) refreshKeys(ctx context.Context) {
	accounts := g.rules.Load().accounts
	if accounts != nil && accounts.keys.due() {
		_ = accounts.keys.fetch(ctx) // it logs and counts how it ended
	}
}
