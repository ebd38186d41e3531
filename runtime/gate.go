package runtime

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/runtime/internal/probe"
)

// Gate admits the workers and the core of an engine. It is safe for concurrent use: a process may answer for several
// ranks.
type Gate struct {
	opts Options
	// shm and connect are replaced by tests.
	shm     string
	connect dial
}

// New returns a gate. It neither asks nor collects anything yet.
func New(opts Options) (*Gate, error) {
	opts.SetDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	return &Gate{opts: opts, shm: probe.Shm}, nil
}

// RegisterKV runs the callback, which allocates the region and registers the caches, once the engine was admitted. It
// returns the callback's own error, or why the callback did not run: *RejectedError, *EndedError, *ServiceError,
// ErrServiceLost, ErrAnswer, the cause of a context that ended, or a mistake in the membership. It returns within the
// deadline and a second, whatever happens elsewhere, and leaves neither a segment nor a goroutine behind.
//
// An engine without secondary tiers, or of one worker, needs no admission (v1.NeedsGate): the callback runs at once.
func (g *Gate) RegisterKV(ctx context.Context, m Membership, callback func(context.Context) error) error {
	if callback == nil {
		return errors.New("register KV: there is no callback")
	}
	if err := m.validate(); err != nil {
		return fmt.Errorf("register KV: %w", err)
	}
	if !v1.NeedsGate(&m.Engine) {
		return g.ungated(ctx, &m, callback)
	}
	if err := m.validateGated(); err != nil {
		return fmt.Errorf("register KV: %w", err)
	}
	r, err := g.registration(&m)
	if err != nil {
		return fmt.Errorf("register KV: %w", err)
	}
	if err := r.admit(ctx); err != nil {
		r.log.Error("registration failed", "error", err)
		return err
	}
	return call(ctx, r.log, callback)
}

func call(ctx context.Context, log *slog.Logger, callback func(context.Context) error) error {
	log.Info("callback starts")
	began := time.Now()
	err := callback(ctx)
	log.Info("callback done", "seconds", time.Since(began).Seconds(), "error", err)
	return err
}

func newIncarnation() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails, by its documentation
	return hex.EncodeToString(random[:])
}
