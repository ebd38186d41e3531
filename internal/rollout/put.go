package rollout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/lookback"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/policy/bundle"
)

var (
	// ErrBusy: another candidate is being tried.
	ErrBusy = errors.New("another policy is being tried at the moment")
	// ErrHasSources: the service takes its policies from elsewhere, which would undo a change.
	ErrHasSources = errors.New("the policies of this service come from its sources; change them there")
	// ErrNoState: without a directory to keep it a policy would be gone after a restart.
	ErrNoState = errors.New("a policy that is sent must outlive a restart; set policy_state to a directory that does")
	// ErrStale: what is in force is not what the sender has seen.
	ErrStale = errors.New("another revision is in force than the one that was named")
)

// sent is the name of a bundle that was sent.
const sent = "sent.tar.gz"

func (r *Rollout) sentPath() string { return filepath.Join(r.opts.StateDir, sent) }

// recallPut takes the bundle that was sent and put in force before a restart.
func (r *Rollout) recallPut() {
	if r.opts.StateDir == "" || len(r.origins) > 0 {
		return
	}
	if packed, err := os.ReadFile(r.sentPath()); err == nil {
		r.put = &remote{name: sent, opts: &r.opts, packed: packed}
	}
}

// Put tries a bundle in place of the one that was sent before, and puts it in force if it passes all stages. Match, if it is
// given, is the digest of the revision that must be in force; accepted names flips of stored launches. Errors say why nothing was tried.
func (r *Rollout) Put(ctx context.Context, packed []byte, match string, accepted []string) (*v1.PolicyReport, error) {
	switch {
	case len(r.origins) > 0:
		return nil, ErrHasSources
	case r.opts.StateDir == "":
		return nil, ErrNoState
	}
	if !r.trial.TryLock() {
		return nil, ErrBusy
	}
	defer r.trial.Unlock()
	if info, err := r.engine.Info(); err != nil || match != "" && match != info.Digest {
		return nil, errors.Join(err, ErrStale)
	}
	old := r.put
	r.put = &remote{name: sent, opts: &r.opts, packed: packed}
	report := r.tryHere(ctx, accepted)
	if report.Refused() {
		r.put = old
		return report, nil
	}
	if err := replace(r.sentPath(), packed); err != nil {
		return report, fmt.Errorf("the policy is in force, and will be gone after a restart: %w", err)
	}
	return report, nil
}

// tryHere tries what the sources hold together with what was sent.
func (r *Rollout) tryHere(ctx context.Context, accepted []string) *v1.PolicyReport {
	c, err := r.look(ctx, false)
	if err != nil {
		report := &v1.PolicyReport{Stage: v1.StageRead, Time: r.now(), Findings: findings(err)}
		r.refuse("", report)
		return report
	}
	return r.change(ctx, c, accepted)
}

// Preview tries sources, with the data that is in force if none are given, and changes nothing. A log of decisions is replayed
// beside the stored launches.
func (r *Rollout) Preview(ctx context.Context, sources []policy.Source, data []byte, log io.Reader) (*v1.PolicyReport, error) {
	if !r.trial.TryLock() {
		return nil, ErrBusy
	}
	defer r.trial.Unlock()
	c := &content{sources: sources, data: data}
	var err error
	if data == nil {
		c.data, err = readData(r.opts.DataFile)
	}
	if err == nil {
		err = c.seal()
	}
	if err != nil {
		return &v1.PolicyReport{Stage: v1.StageRead, Time: r.now(), Findings: findings(err)}, nil
	}
	candidate, report := r.try(ctx, c, nil)
	if candidate == nil {
		return report, nil
	}
	defer candidate.Close(context.WithoutCancel(ctx)) //nolint:errcheck // freeing has no failure that a reader could act on
	report.Replay, err = lookback.Replay(ctx, report.Revision, candidate, log)
	return report, err
}

// Unpack reads a packed bundle, and verifies it if that is asked for.
func (r *Rollout) Unpack(packed []byte) (policy.Source, error) {
	b, err := bundle.Read(sent, bytes.NewReader(packed), bundle.Limits{})
	if err != nil {
		return policy.Source{}, err
	}
	return verified(b, r.opts.Verification)
}
