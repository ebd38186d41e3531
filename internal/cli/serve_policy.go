package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/tiergate/tiergate/internal/config"
	"github.com/tiergate/tiergate/internal/rollout"
	"github.com/tiergate/tiergate/policy"
)

// openPolicies brings the policy into force that the settings name.
func openPolicies(ctx context.Context, serve *config.Serve, logger *slog.Logger) (*rollout.Rollout, error) {
	return openRollout(ctx, serve, logger, rollout.Options{
		Sources: serve.Policy, LaunchDir: serve.PolicyLaunches, Accept: serve.PolicyAccept, StateDir: serve.PolicyState,
	})
}

// openShadow loads the candidate that serve tries beside its policy, with the same data; nil if there is none. It decides
// nothing, so that neither its tests nor stored launches hold it up.
func openShadow(ctx context.Context, serve *config.Serve, logger *slog.Logger) (*rollout.Rollout, error) {
	if len(serve.Shadow) == 0 {
		return nil, nil
	}
	opts := rollout.Options{Sources: serve.Shadow, Untested: true}
	if serve.PolicyState != "" {
		opts.StateDir = filepath.Join(serve.PolicyState, "shadow") // what was never tested must not become a good copy of the policy
	}
	shadow, err := openRollout(ctx, serve, logger, opts)
	if err != nil {
		return nil, fmt.Errorf("shadow: %w", err)
	}
	return shadow, nil
}

func openRollout(ctx context.Context, serve *config.Serve, logger *slog.Logger, opts rollout.Options) (*rollout.Rollout, error) {
	flags := signedBy(serve)
	var err error
	if opts.Verification, err = flags.verification(); err != nil {
		return nil, err
	}
	opts.Policy = policy.Options{CacheDir: serve.CacheDir}
	opts.DataFile, opts.Poll, opts.Logger = serve.Data, serve.PolicyPoll, logger
	if opts.TokenFile, opts.CAFile = serve.PolicyToken, serve.PolicyCA; opts.Untested {
		opts.Logger = opts.Logger.With("shadow", true)
	}
	if err := opts.Validate(); err != nil {
		return nil, &usageError{err.Error()}
	}
	r, err := rollout.Open(ctx, opts)
	var unreadable *rollout.PathError
	if errors.As(err, &unreadable) || errors.Is(err, rollout.ErrTests) {
		return nil, &usageError{err.Error()}
	}
	return r, err
}

// roll keeps policies at what their sources say, until the function that it returns is called.
func roll(ctx context.Context, all ...*rollout.Rollout) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, r := range all {
		if r != nil {
			running.Go(func() { r.Run(ctx) })
		}
	}
	return func() {
		cancel()
		running.Wait()
	}
}
