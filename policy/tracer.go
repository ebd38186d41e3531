package policy

import (
	"context"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/util"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Tracer tells which rules led to the result of a check. It evaluates in OPA's interpreter, since WebAssembly does not
// tell, and is for people who ask why: it takes a hundred times as long as the decision, and decides nothing.
type Tracer struct {
	compiler *ast.Compiler
	store    storage.Store
}

// NewTracer loads the policy of opts anew.
func NewTracer(opts Options) (*Tracer, error) {
	src, err := read(opts.Sources, opts.Data, opts.DataName)
	if err != nil {
		return nil, err
	}
	p, data, err := prepare(src)
	if err != nil {
		return nil, err
	}
	modules, err := p.modules()
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := util.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("read data: %w", err)
	}
	// Types are checked already by who has decided.
	c := ast.NewCompiler().WithCapabilities(capabilities()).WithSkipStages(ast.StageCheckTypes)
	if c.Compile(modules); c.Failed() {
		return nil, fromOPA(c.Errors, CodeType)
	}
	return &Tracer{c, inmem.NewFromObject(doc)}, nil
}

// Evidence is a rule that held, and the facts that it names.
type Evidence struct {
	// Rule is the path of the rule, e.g. data.tiergate.checks.tiering.node_local.violations.
	Rule string `json:"rule"`
	File string `json:"file"`
	Row  int    `json:"row"`
	// Own is true for the rules of the check, false for those of libraries that they use.
	Own bool `json:"own"`
	// Function is true for rules with arguments.
	Function bool       `json:"function,omitempty"`
	Reads    []FactRead `json:"reads,omitempty"`
}

// FactRead is a place in a rule that names a fact.
type FactRead struct {
	Fact string `json:"fact"`
	Row  int    `json:"row"`
}

// decisive is the rule of a check that makes each outcome; nothing makes a pass.
var decisive = map[string]string{v1.Fail: "violations", v1.Unknown: "unknown", v1.NotApplicable: "applies"}

// Trace returns the rules that held when a check came to its outcome over facts, those of the check first, each once.
// None made it where a check passes, or where what is missing is in its needs.
func (t *Tracer) Trace(ctx context.Context, id, outcome string, facts []byte) ([]Evidence, error) {
	rule, known := decisive[outcome]
	if !known {
		return nil, nil
	}
	var input any
	if err := util.Unmarshal(facts, &input); err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	query, err := rego.New(rego.Query(checksPrefix+id+"."+rule), rego.Compiler(t.compiler), rego.Store(t.store)).PrepareForEval(ctx)
	if err != nil {
		return nil, fmt.Errorf("trace %s: %w", id, err)
	}
	held := heldRules{}
	if _, err := query.Eval(ctx, rego.EvalInput(input), rego.EvalQueryTracer(&held)); err != nil {
		return nil, fmt.Errorf("trace %s: %w", id, err)
	}
	return held.evidence(checksPrefix + id), nil
}

// heldRules is a tracer of OPA that keeps the rules whose bodies held.
type heldRules struct{ rules []*ast.Rule }

// Enabled says that it wants events.
func (*heldRules) Enabled() bool { return true }

// Config asks for nothing but events.
func (*heldRules) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent is called for every step of an evaluation.
func (h *heldRules) TraceEvent(event topdown.Event) {
	if rule, ok := event.Node.(*ast.Rule); ok && event.Op == topdown.ExitOp && !slices.Contains(h.rules, rule) {
		h.rules = append(h.rules, rule)
	}
}

func (h *heldRules) evidence(pkg string) (out []Evidence) {
	for _, rule := range h.rules {
		e := Evidence{
			Rule: rule.Ref().GroundPrefix().String(), File: rule.Location.File, Row: rule.Location.Row,
			Own: rule.Module.Package.Path.String() == pkg, Function: len(rule.Head.Args) > 0,
		}
		ast.WalkRefs(rule, func(ref ast.Ref) bool {
			if ref[0].Equal(ast.InputRootDocument) && len(ref) > 1 {
				read := FactRead{ref.GroundPrefix().String(), ref[0].Location.Row}
				if !slices.Contains(e.Reads, read) {
					e.Reads = append(e.Reads, read)
				}
			}
			return false
		})
		slices.SortStableFunc(e.Reads, func(a, b FactRead) int { return a.Row - b.Row })
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b Evidence) int {
		if a.Own == b.Own {
			return 0
		}
		return map[bool]int{true: -1, false: 1}[a.Own]
	})
	return out
}
