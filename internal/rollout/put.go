package rollout

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	// ErrNotKept: a policy passed and could not be written, so that it is not in force.
	ErrNotKept = errors.New("the policy passed, but is not in force, because it cannot be kept for a restart")
)

// sent is the name of a bundle that was sent.
const sent = "sent.tar.gz"

func (r *Rollout) sentPath() string { return filepath.Join(r.opts.StateDir, sent) }

// recallPut takes the bundle that was sent and put in force before a restart. One that cannot be read is an error: a start with
// the shipped rules alone would take a site's rules away without a word.
func (r *Rollout) recallPut() error {
	if r.opts.StateDir == "" || len(r.origins) > 0 {
		return nil
	}
	packed, err := os.ReadFile(r.sentPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return &PathError{r.sentPath(), fmt.Errorf("the policy that was sent: %w", err)}
	}
	r.put = &remote{name: sent, opts: &r.opts, packed: packed}
	return nil
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
	report, err := r.tryHere(ctx, accepted, func() error { return replace(r.sentPath(), packed) })
	if err != nil || report.Refused() {
		r.put = old
	}
	return report, err
}

// tryHere tries what the sources hold together with what was sent.
func (r *Rollout) tryHere(ctx context.Context, accepted []string, keep func() error) (*v1.PolicyReport, error) {
	c, err := r.look(ctx, false)
	if err != nil {
		report := &v1.PolicyReport{Stage: v1.StageRead, Time: r.now(), Findings: findings(err)}
		r.refuse("", report)
		return report, nil
	}
	return r.change(ctx, c, accepted, keep)
}

// Preview tries sources, with the data that is in force if none are given, and changes nothing. A log of decisions is replayed
// beside the stored launches.
func (r *Rollout) Preview(ctx context.Context, sources []policy.Source, data []byte, log io.Reader) (*v1.PolicyReport, error) {
	if !r.preview.TryLock() {
		return nil, ErrBusy
	}
	defer r.preview.Unlock()
	c := &content{sources: sources, data: data}
	var err error
	if data == nil {
		c.data, err = readData(r.opts.DataFile)
	}
	if err == nil {
		err = r.seal(c)
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
