package policy

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy/internal/host"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/vllm"
)

// Decision is the answer to a launch.
type Decision struct {
	// Outcome is allow, deny or unknown.
	Outcome string
	// JSON is the verdict, a v1.Verdict.
	JSON []byte
	// Revision and Digest are those in the verdict.
	Revision, Digest string
	// Now is input.now: RFC 3339, to the minute.
	Now string
}

// Decide judges a launch at topology.StageLaunch: what a launcher is about to start.
func (e *Engine) Decide(ctx context.Context, launch *v1.Launch) (Decision, error) {
	return e.DecideAt(ctx, topology.StageLaunch, launch)
}

// DecideAt judges a launch at a stage of package topology. At registration it is one replica, with its workers and their
// ranks within it. An error means that there is no answer: an input that cannot be judged (from packages topology
// and topology/vllm), an evaluation that failed (an *Error with CodeEvaluation), or a context that ended.
func (e *Engine) DecideAt(ctx context.Context, stage string, launch *v1.Launch) (Decision, error) {
	return e.DecideAsOf(ctx, e.opts.Now(), stage, launch)
}

// DecideAsOf judges a launch as DecideAt would have at that time: what was decided once is decided again with its own
// input.now, so that it has the same digest.
func (e *Engine) DecideAsOf(ctx context.Context, now time.Time, stage string, launch *v1.Launch) (Decision, error) {
	s, err := e.acquire()
	if err != nil {
		return Decision{}, err
	}
	defer s.release(context.Background()) //nolint:errcheck // as in Info
	return s.decide(ctx, now, stage, launch)
}

func (s *snapshot) decide(ctx context.Context, now time.Time, stage string, launch *v1.Launch) (Decision, error) {
	var d Decision
	err := s.folded(now, stage, launch, func(w *work) error {
		copy(w.keyed, s.digest[:])
		key := sha256.Sum256(w.keyed)
		if known, ok := s.verdicts.get(key); ok {
			d = known
			return nil
		}
		if err := s.evaluate(ctx, s.verdict, w); err != nil {
			return err
		}
		var err error
		if d, err = s.finish(w, key); err == nil {
			s.verdicts.add(key, d)
		}
		return err
	})
	return d, err
}

// Query evaluates an entry point that the policy declares over the facts of a launch, at topology.StageLaunch, and returns
// its JSON result.
func (e *Engine) Query(ctx context.Context, path string, launch *v1.Launch) ([]byte, error) {
	if path == Verdict {
		d, err := e.Decide(ctx, launch)
		return d.JSON, err
	}
	var out []byte
	err := e.folded(e.opts.Now(), topology.StageLaunch, launch, func(s *snapshot, w *work) error {
		entrypoint, ok := s.module.Entrypoint(path)
		if !ok || path == brokenPath {
			return fmt.Errorf("%w: %s; there are %s", ErrNoEntrypoint, path, strings.Join(s.entrypoints, ", "))
		}
		if err := s.evaluate(ctx, entrypoint, w); err != nil {
			return err
		}
		out = append(out, w.result...)
		return nil
	})
	return out, err
}

// Facts returns what the rules see of a launch at topology.StageLaunch, as JSON.
func (e *Engine) Facts(launch *v1.Launch) ([]byte, error) {
	var out []byte
	err := e.folded(e.opts.Now(), topology.StageLaunch, launch, func(_ *snapshot, w *work) error {
		out = append(out, w.input()...)
		return nil
	})
	return out, err
}

// work is the memory of one decision, reused.
type work struct {
	engine     *topology.Engine
	stage, now string
	// keyed is the digest of the revision followed by the facts, so that one hash over it is the verdict's digest.
	keyed  []byte
	result []byte
}

var works = sync.Pool{New: func() any { return new(work) }}

func (w *work) input() []byte { return w.keyed[sha256.Size:] }

// fold turns a launch into the facts document.
func (w *work) fold(stage string, launch *v1.Launch, needs topology.Needs, now time.Time) error {
	engine, err := vllm.Resolve(launch)
	if err != nil {
		return err
	}
	w.engine, w.stage, w.now = engine, stage, now.UTC().Truncate(time.Minute).Format(time.RFC3339)
	facts, err := topology.Fold(launch, engine, topology.FoldOptions{Stage: stage, Now: w.now, Needs: needs})
	if err != nil {
		return err
	}
	w.keyed = appendFacts(append(w.keyed[:0], make([]byte, sha256.Size)...), facts)
	return nil
}

// folded calls use with the revision in force and the facts of a launch.
func (e *Engine) folded(now time.Time, stage string, launch *v1.Launch, use func(*snapshot, *work) error) error {
	s, err := e.acquire()
	if err != nil {
		return err
	}
	defer s.release(context.Background()) //nolint:errcheck // as in Info
	return s.folded(now, stage, launch, func(w *work) error { return use(s, w) })
}

// folded calls use with the facts of a launch.
func (s *snapshot) folded(now time.Time, stage string, launch *v1.Launch, use func(*work) error) error {
	w := works.Get().(*work)
	defer works.Put(w)
	if err := w.fold(stage, launch, s.needs, now); err != nil {
		return err
	}
	return use(w)
}

// evaluate leaves the result of an entry point over the facts in w.
func (s *snapshot) evaluate(ctx context.Context, entrypoint int32, w *work) error {
	var defined bool
	var err error
	w.result, defined, err = s.pool.Eval(ctx, entrypoint, w.input(), w.result[:0])
	if err != nil {
		return s.explain(err)
	}
	if !defined {
		return s.undefined(ctx, w)
	}
	return nil
}

// undefined names the checks that gave no proper result when there is no verdict.
func (s *snapshot) undefined(ctx context.Context, w *work) error {
	out := &Error{Code: CodeEvaluation, Message: ErrUndefined.Error(), Err: ErrUndefined}
	broken, _, err := s.pool.Eval(ctx, s.broken, w.input(), nil)
	if err != nil {
		return s.explain(err)
	}
	var ids []string
	if json.Unmarshal(broken, &ids) == nil && len(ids) > 0 {
		p := s.rules()[checksPrefix+ids[0]+".violations"]
		out.File, out.Row = p.file, p.row
		out.Message = fmt.Sprintf("check %s gives no proper result: applies must be true or false, every unknown fact a "+
			"text, and every violation an object of message and fix (texts), nodes (a list of texts) and group (kind and ranks)", strings.Join(ids, ", "))
	}
	return out
}

// explain adds the place in the rules to an evaluation error.
func (s *snapshot) explain(err error) error {
	var failed *host.Error
	if !errors.As(err, &failed) {
		return err
	}
	out := &Error{Code: CodeEvaluation, File: failed.File, Row: failed.Row, Message: failed.Error(), Err: failed}
	if p, known := s.rules()[failed.Rule]; known && out.File == "" {
		out.File, out.Row = p.file, p.row
	}
	if failed.File != "" {
		out.Message = strings.TrimPrefix(out.Message, fmt.Sprintf("%s:%d: ", failed.File, failed.Row))
	}
	return out
}
