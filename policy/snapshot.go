package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy/internal/host"
	"github.com/tiergate/tiergate/topology"
)

// The entry points of every revision: the verdict, and the checks without a proper result when there is no verdict.
const (
	Verdict    = "tiergate/verdict"
	brokenPath = "tiergate/generated/broken"
)

// snapshot is one revision: sources, module, data and digest, immutable. It is swapped whole and freed when the last
// evaluation on it has ended.
type snapshot struct {
	revision    string
	digest      [sha256.Size]byte // over module and data
	checks      []*Check
	needs       topology.Needs
	entrypoints []string
	rules       func() map[string]place // by path, e.g. data.tiergate.verdict
	mask        []string                // what decision logs must not have
	acceptFlips []string

	verdicts        *known
	pool            *host.Pool
	module          *host.Module
	verdict, broken int32

	refs atomic.Int64
}

type place struct {
	file string
	row  int
}

// build turns sources into a snapshot; any refusal leaves whatever was in force untouched.
func build(ctx context.Context, e *Engine, src *files) (*snapshot, error) {
	opts := e.opts
	p, data, err := prepare(src)
	if err != nil {
		return nil, err
	}
	entrypoints := p.exports()
	wasm, err := p.cachedWasm(ctx, opts.CacheDir, append(entrypoints, brokenPath))
	if err != nil {
		return nil, err
	}
	limits := host.Limits{MaxPages: opts.MaxPages, RetirePages: opts.MaxPages / 4, Budget: opts.Budget, Steps: &e.steps}
	module, err := e.host.Load(ctx, wasm, data, builtins(), limits)
	if err != nil {
		return nil, fmt.Errorf("load policy: %w", err)
	}
	s := &snapshot{
		checks: p.checks, needs: factNeeds(p.checks), entrypoints: entrypoints, rules: sync.OnceValue(p.places),
		module: module, pool: host.NewPool(module, opts.Instances), verdicts: newKnown(opts.Verdicts),
		mask: src.mask, acceptFlips: src.acceptFlips,
	}
	s.verdict, _ = module.Entrypoint(Verdict)
	s.broken, _ = module.Entrypoint(brokenPath)
	s.digest = digestOf(wasm, data)
	s.revision = revisionOf(s.digest)
	s.refs.Store(1)
	return s, nil
}

// prepare parses and refuses, and returns the modules with the generated one and the data document.
func prepare(src *files) (*parsed, []byte, error) {
	p, err := parse(src.modules)
	if err != nil {
		return nil, nil, err
	}
	if err := applySettings(src, p.checks); err != nil {
		return nil, nil, err
	}
	active := enabled(p.checks)
	if !slices.ContainsFunc(active, func(c *Check) bool { return c.Enforcement == v1.EnforceDeny }) {
		return nil, nil, Errors{{
			Code:    CodeNoDeny,
			Message: "no enabled check has the enforcement deny, so nothing would ever be refused; enable one",
		}}
	}
	p.files = append(p.files, file{path: generatedFile, text: []byte(generate(active)), builtIn: true})
	doc := maps.Clone(src.data)
	doc["checks"], doc["disabled"] = generatedData(p.checks)
	p.data = doc
	data, err := asJSON(doc)
	if err != nil {
		return nil, nil, fmt.Errorf("write data: %w", err)
	}
	return p, data, nil
}

// exports are the entry points that callers may query: the verdict, and what else the rules declare.
func (p *parsed) exports() []string {
	return slices.Compact(slices.Sorted(slices.Values(append(p.entrypoints, Verdict))))
}

// places maps rule paths to where they are defined, for errors of an evaluation. The files have been parsed before.
func (p *parsed) places() map[string]place {
	out := map[string]place{}
	modules, _ := p.modules()
	for path, m := range modules {
		for _, rule := range m.Rules {
			ref := rule.Ref().GroundPrefix().String()
			if _, taken := out[ref]; !taken {
				out[ref] = place{path, rule.Location.Row}
			}
		}
	}
	return out
}

func digestOf(wasm, data []byte) [sha256.Size]byte {
	w, d := sha256.Sum256(wasm), sha256.Sum256(data)
	return sha256.Sum256(append(w[:], d[:]...))
}

func revisionOf(digest [sha256.Size]byte) string { return hex.EncodeToString(digest[:6]) }

// retain takes a reference unless the snapshot is being freed.
func (s *snapshot) retain() bool {
	for {
		n := s.refs.Load()
		if n == 0 {
			return false
		}
		if s.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (s *snapshot) release(ctx context.Context) error {
	if s.refs.Add(-1) == 0 {
		return s.pool.Close(context.WithoutCancel(ctx))
	}
	return nil
}
