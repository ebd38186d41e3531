package host

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/tiergate/tiergate/policy/internal/rewrite"
)

// Limits bound one evaluation.
type Limits struct {
	// MaxPages is the most memory of an instance in pages of 64 KiB.
	MaxPages uint32
	// RetirePages is the size above which an instance is replaced after its evaluation, since memory never shrinks.
	RetirePages uint32
	// Budget is the most steps, counted at loop headers and rule entries and checked every 5,000 of them.
	Budget int64
	// Steps, unless it is nil, is where the steps of all evaluations are added up.
	Steps *atomic.Int64
}

// Module is a compiled policy with its data, from which instances are made. It is safe for concurrent use.
type Module struct {
	host     *Host
	compiled wazero.CompiledModule
	sites    []rewrite.Site
	limits   Limits
	data     []byte
	builtins Builtins

	// entrypoints and calls are the same in every instance; they are read from the first.
	entrypoints map[string]int32
	calls       []Builtin
}

// Load rewrites and compiles a module as OPA's compiler gives it, and makes one instance to learn what it offers and
// needs. data is a JSON document.
func (h *Host) Load(ctx context.Context, wasm, data []byte, builtins Builtins, limits Limits) (*Module, error) {
	rewritten, err := rewrite.Rewrite(wasm, rewrite.Options{
		MaxPages: limits.MaxPages, MaxDepth: maxDepth, Nullable: failsSilently,
	})
	if err != nil {
		return nil, fmt.Errorf("rewrite module: %w", err)
	}
	if !rewritten.Complete {
		return nil, fmt.Errorf("rewrite module: %w: it lacks the functions of OPA's runtime", rewrite.ErrUnsupported)
	}
	parallel := experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
	compiled, err := h.runtime.CompileModule(parallel, rewritten.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCompile, err)
	}
	m := &Module{
		host: h, compiled: compiled, sites: rewritten.Sites,
		limits: limits, data: data, builtins: builtins,
	}
	if err := m.learn(ctx); err != nil {
		return nil, fmt.Errorf("start module: %w", err)
	}
	return m, nil
}

// learn reads the entry points and the builtins that the module expects from the host.
func (m *Module) learn(ctx context.Context) error {
	in, err := m.Instantiate(ctx)
	if err != nil {
		return err
	}
	defer in.Close(ctx)
	if err := in.selfCheck(); err != nil {
		return err
	}
	if err := in.describe("entrypoints", &m.entrypoints); err != nil {
		return err
	}
	var names map[string]int32
	if err := in.describe("builtins", &names); err != nil {
		return err
	}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fn := m.builtins.Lookup(name)
		if fn == nil {
			missing = append(missing, name)
			continue
		}
		if name == ast.Sprintf.Name {
			fn = boundedSprintf(fn)
		}
		id := int(names[name])
		for len(m.calls) <= id {
			m.calls = append(m.calls, Builtin{})
		}
		m.calls[id] = Builtin{Name: name, Func: fn}
	}
	if missing != nil {
		return fmt.Errorf("the host provides no builtin %v", missing)
	}
	return nil
}

// describe calls an exported function that answers with an opa_value and decodes it.
func (in *Instance) describe(function string, into any) error {
	fn := in.mod.ExportedFunction(function)
	if fn == nil {
		return fmt.Errorf("the module exports no function %s", function)
	}
	addr, err := in.call(fn)
	if err != nil {
		return fmt.Errorf("call %s: %w", function, err)
	}
	text, err := in.dec.decode(in.memory(), addr, nil)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", function, err)
	}
	return nil
}

// Entrypoint returns the number of an entry point such as tiergate/verdict.
func (m *Module) Entrypoint(path string) (int32, bool) {
	id, ok := m.entrypoints[path]
	return id, ok
}

// Close frees the machine code; no instance may be left.
func (m *Module) Close(ctx context.Context) error { return m.compiled.Close(ctx) }
