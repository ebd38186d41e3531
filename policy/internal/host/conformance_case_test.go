package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/util"
)

// verdict is what became of a case: its kind, and how it failed if it did.
type verdict struct {
	kind, failure string
}

// judge compiles a case to WebAssembly and runs it.
func judge(ctx context.Context, h *Host, c suiteCase) verdict {
	got, err := evaluateCase(ctx, h, c)
	if err != nil {
		return verdict{kind: kindOf(c), failure: err.Error()}
	}
	v := verdict{kind: kindOf(c), failure: failureOf(c, got)}
	if v.failure == "" && got.err == nil {
		v.failure = compareFaults(got.fault, strictError(ctx, c))
	}
	return v
}

// compareFaults: there must be a fault exactly where the interpreter has an error in strict mode.
func compareFaults(fault, strict error) string {
	var evaluation *topdown.Error
	switch found := errors.As(strict, &evaluation); {
	case fault != nil && !found:
		return fmt.Sprintf("fault %q, which the interpreter does not see", fault)
	case fault == nil && found:
		return fmt.Sprintf("no fault, but the interpreter has %q", strict)
	}
	return ""
}

func kindOf(c suiteCase) string {
	switch {
	case c.WantDefined != nil || c.WantResult != nil:
		return "results"
	case c.StrictError:
		return "strict errors"
	default:
		return "errors"
	}
}

func failureOf(c suiteCase, got outcome) string {
	switch {
	case c.WantDefined != nil || c.WantResult != nil:
		if got.err != nil {
			return "unexpected error: " + got.err.Error()
		}
		if c.WantDefined != nil && *c.WantDefined != (got.results.Len() > 0) {
			return fmt.Sprintf("want defined %v, got %v", *c.WantDefined, got.results)
		}
		if c.WantResult != nil {
			return compareResults(*c.WantResult, got.results, c.SortBindings)
		}
	case c.StrictError:
		if got.err == nil && got.fault == nil {
			return fmt.Sprintf("no error, but %v", got.results)
		}
	default:
		if got.err == nil {
			return fmt.Sprintf("no error, but %v", got.results)
		}
		if c.WantErrorCode != nil && *c.WantErrorCode == "eval_conflict_error" && !errors.Is(got.err, ErrConflict) {
			return "not a conflict: " + got.err.Error()
		}
	}
	return ""
}

// compareResults compares sets of bindings as OPA does: sets became arrays in JSON.
func compareResults(want []map[string]any, got ast.Set, sortBindings bool) string {
	expected := ast.NewSet()
	for _, bindings := range want {
		expected.Add(ast.NewTerm(ast.MustInterfaceToValue(bindings)))
	}
	plain, err := ast.JSONWithOpt(got, ast.JSONOpt{SortSets: sortBindings})
	if err != nil {
		return err.Error()
	}
	actual := ast.NewSet()
	for _, bindings := range plain.([]any) {
		object := ast.NewObject()
		for name, value := range bindings.(map[string]any) {
			v, err := ast.InterfaceToValue(value)
			if err != nil {
				return err.Error()
			}
			if a, ok := v.(*ast.Array); ok && sortBindings {
				v = a.Sorted()
			}
			object.Insert(ast.StringTerm(name), ast.NewTerm(v))
		}
		actual.Add(ast.NewTerm(object))
	}
	if expected.Compare(actual) != 0 {
		return fmt.Sprintf("want %v, got %v", expected, actual)
	}
	return ""
}

// outcome is what an evaluation of a case gave: an error that ends it, or results and perhaps a fault.
type outcome struct {
	err, fault error
	results    ast.Set
}

func options(c suiteCase) []func(*rego.Rego) {
	opts := []func(*rego.Rego){
		rego.Query(c.Query), rego.SetRegoVersion(c.version),
		rego.Capabilities(ast.CapabilitiesForThisVersion(ast.CapabilitiesExperimentalKeywords(c.ExperimentalKeywords))),
	}
	for i, source := range c.Modules {
		opts = append(opts, rego.Module(fmt.Sprintf("module-%d.rego", i), source))
	}
	return opts
}

func evaluateCase(ctx context.Context, h *Host, c suiteCase) (outcome, error) {
	compiled, err := rego.New(options(c)...).Compile(ctx)
	if err != nil {
		return outcome{}, fmt.Errorf("compile: %w", err)
	}
	data := []byte("{}")
	if c.Data != nil {
		if data, err = json.Marshal(*c.Data); err != nil {
			return outcome{}, err
		}
	}
	m, err := h.Load(ctx, compiled.Bytes, data, Builtins{Lookup: contextual},
		Limits{MaxPages: 1024, RetirePages: 1024, Budget: 1 << 30})
	if err != nil {
		return outcome{}, fmt.Errorf("load: %w", err)
	}
	defer m.Close(ctx) //nolint:errcheck // freeing
	in, err := m.Instantiate(ctx)
	if err != nil {
		return outcome{}, fmt.Errorf("instantiate: %w", err)
	}
	defer in.Close(ctx)
	text, isJSON, err := inputOf(c)
	if err != nil {
		return outcome{}, err
	}
	got, err := in.lenient(ctx, text, isJSON)
	if err != nil || got.err != nil || !isJSON {
		return got, err
	}
	return got, in.consistent(ctx, text, got)
}

// inputOf returns the input as text, of Rego where it has what JSON lacks.
func inputOf(c suiteCase) (text []byte, isJSON bool, err error) {
	switch {
	case c.InputTerm != nil:
		v := ast.MustParseTerm(*c.InputTerm).Value
		if err := util.UnmarshalJSON([]byte(v.String()), new(any)); err != nil {
			return []byte(v.String()), false, nil
		}
		return []byte(v.String()), true, nil
	case c.Input != nil:
		text, err = json.Marshal(*c.Input)
		return text, true, err
	default:
		return nil, true, nil
	}
}

// lenient evaluates as OPA does, where a failed builtin is only undefined; the fault is told beside the results.
func (in *Instance) lenient(ctx context.Context, text []byte, isJSON bool) (got outcome, err error) {
	in.begin(ctx)
	defer in.end()
	addr, end := uint32(0), in.heap
	switch {
	case !isJSON:
		if _, err := in.call(in.setHeap, uint64(in.heap)); err != nil {
			return got, err
		}
		if addr, err = in.parsed(text); err != nil {
			return got, err
		}
		if end, err = in.call(in.mod.ExportedFunction("opa_heap_ptr_get")); err != nil {
			return got, err
		}
	case len(text) > 0:
		if addr, end, err = in.enc.encode(in.heap, text); err != nil {
			return got, err
		}
	}
	results, err := in.run(0, addr, end)
	if err != nil {
		return outcome{err: err}, nil
	}
	got.fault = in.fault()
	got.results = ast.NewSet()
	if only := uint32(in.result.Get()); in.u32(results+12) == 0 && only != 0 {
		v, err := in.readBoth(only)
		got.results.Add(ast.NewTerm(v))
		return got, err
	}
	v, err := in.readBoth(results)
	if err == nil {
		got.results = v.(ast.Set)
	}
	return got, err
}

// readBoth reads a value and holds the decoder to it.
func (in *Instance) readBoth(addr uint32) (ast.Value, error) {
	v, err := in.readValue(addr)
	if err != nil {
		return nil, err
	}
	text, err := in.dec.decode(in.memory(), addr, nil)
	if want := canonicalJSON(v); err == nil && want != string(text) {
		err = fmt.Errorf("decoded as %s instead of %s", text, want)
	}
	return v, err
}

// consistent evaluates again through Eval, which has no value where there was a fault.
func (in *Instance) consistent(ctx context.Context, text []byte, first outcome) error {
	out, defined, err := in.Eval(ctx, 0, text, nil)
	if first.fault != nil {
		if err == nil || err.Error() != first.fault.Error() {
			return fmt.Errorf("Eval gives error %v, not %w", err, first.fault)
		}
		return nil
	}
	if err != nil || defined != (first.results.Len() > 0) {
		return fmt.Errorf("Eval gives %v, %w", defined, err)
	}
	if first.results.Len() != 1 {
		return nil
	}
	first.results.Foreach(func(t *ast.Term) {
		bindings := t.Value.(ast.Object)
		if keys := bindings.Keys(); len(keys) == 1 {
			if want := canonicalJSON(bindings.Get(keys[0]).Value); want != string(out) && !volatile(bindings) {
				err = fmt.Errorf("Eval gives %s instead of %s", out, want)
			}
		}
	})
	return err
}

// volatile tells of values that are another one every time.
func volatile(v ast.Value) bool { return strings.Contains(v.String(), "volatile") }

// strictError is the builtin error that the interpreter has in strict mode, nil if none.
func strictError(ctx context.Context, c suiteCase) error {
	opts := append(options(c), rego.StrictBuiltinErrors(true))
	if c.Data != nil {
		opts = append(opts, rego.Store(inmem.NewFromObject(*c.Data)))
	}
	if c.InputTerm != nil {
		opts = append(opts, rego.ParsedInput(ast.MustParseTerm(*c.InputTerm).Value))
	} else if c.Input != nil {
		opts = append(opts, rego.Input(*c.Input))
	}
	_, err := rego.New(opts...).Eval(ctx)
	return err
}

// contextual gives builtins the context that OPA's host gives them.
func contextual(name string) topdown.BuiltinFunc {
	fn := topdown.GetBuiltin(name)
	if fn == nil {
		return nil
	}
	shared := newBuiltinContext()
	return func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		full := shared
		full.Context = bctx.Context
		return fn(full, operands, iter)
	}
}
