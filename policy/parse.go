package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/tiergate/tiergate/rego"
)

// parsed is a set of rule files that were parsed, with the checks among them.
type parsed struct {
	// files parse without errors.
	files  []file
	checks []*Check
	// entrypoints are the rules and packages whose METADATA says entrypoint: true, e.g. tiergate/verdict.
	entrypoints []string
	// data is the data document of the sources, with what Tiergate adds to it.
	data map[string]any
}

// modules parses the files anew. The compiler rewrites the modules that it is given, and ast.Module.Copy shares the parts
// of template strings with its original, so that a module can be compiled only once.
func (p *parsed) modules() (map[string]*ast.Module, error) {
	out := make(map[string]*ast.Module, len(p.files))
	for _, f := range p.files {
		m, err := parseModule(f)
		if err != nil {
			return nil, fromOPA(err, CodeParse)
		}
		out[f.path] = m
	}
	return out, nil
}

// parse parses the modules and refuses what DESIGN calls refusals at load, all of them at once.
func parse(modules []file) (*parsed, error) {
	p := &parsed{files: modules}
	var errs Errors
	owners := map[string]string{}
	sources := map[*ast.Module]*Check{}
	for _, f := range modules {
		m, err := parseModule(f)
		if err != nil {
			errs = append(errs, fromOPA(err, CodeParse)...)
			continue
		}
		errs = append(errs, allowedPackage(m, f.builtIn)...)
		p.entrypoints = append(p.entrypoints, declaredEntrypoints(m)...)
		sources[m] = nil
		if !isCheck(m) {
			continue
		}
		c, wrong := readCheck(m, f.builtIn)
		errs = append(errs, wrong...)
		if first, taken := owners[c.ID]; taken {
			errs = append(errs, at(CodeCheck, m.Package.Location, "check %s is defined already in %s", c.ID, first))
		}
		owners[c.ID] = f.path
		sources[m] = c
		p.checks = append(p.checks, c)
	}
	for m, own := range sources {
		errs = append(errs, unasked(m, own, p.checks)...)
	}
	errs.sort()
	slices.SortFunc(p.checks, func(a, b *Check) int { return strings.Compare(a.ID, b.ID) })
	return p, errs.orNil()
}

func parseModule(f file) (*ast.Module, error) {
	return ast.ParseModuleWithOpts(f.path, string(f.text), ast.ParserOptions{
		ProcessAnnotation: true, RegoVersion: ast.RegoV1, Capabilities: capabilities(),
	})
}

// allowedPackage keeps a site from adding rules to the packages that make the verdict: under tiergate it may only add
// checks.
func allowedPackage(m *ast.Module, builtIn bool) Errors {
	path := m.Package.Path.String()
	if builtIn || path != "data.tiergate" && !strings.HasPrefix(path, "data.tiergate.") || isCheck(m) {
		return nil
	}
	return Errors{at(CodePackage, m.Package.Location,
		"package %s belongs to Tiergate; a site's checks are in tiergate.checks.<area>.<name>, its helpers in packages of other names",
		strings.TrimPrefix(path, "data."))}
}

func declaredEntrypoints(m *ast.Module) (paths []string) {
	for _, a := range m.Annotations {
		if a.Entrypoint {
			ref := a.GetTargetPath()
			parts := make([]string, 0, len(ref))
			for _, term := range ref[1:] {
				if s, ok := term.Value.(ast.String); ok {
					parts = append(parts, string(s))
				}
			}
			paths = append(paths, strings.Join(parts, "/"))
		}
	}
	return paths
}

const schemaFile = "schemas/input.json"

// inputSchema is the type of input in every module, so that a wrong field name does not compile.
func inputSchema() (*ast.SchemaSet, error) {
	text, err := rego.FS.ReadFile(schemaFile)
	if err != nil {
		return nil, err
	}
	var schema any
	if err := util.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("read input schema: %w", err)
	}
	set := ast.NewSchemaSet()
	set.Put(ast.SchemaRootRef, schema)
	return set, nil
}

// typeCheck compiles the modules together for OPA's interpreter, which checks types, and reports everything that is wrong
// in one list. It calls bounded, unless that is nil, when it knows that the types are of a size that can be checked.
func (p *parsed) typeCheck(bounded func()) error {
	schemas, err := inputSchema()
	if err != nil {
		return err
	}
	modules, err := p.modules()
	if err != nil {
		return err
	}
	c := ast.NewCompiler().WithCapabilities(capabilities()).WithSchemas(schemas).WithUseTypeCheckAnnotations(true).
		SetErrorLimit(0).WithStrict(true)
	var noSuch Errors
	c.WithStageAfterID(ast.StageCheckRecursion, ast.CompilerStageDefinition{Name: "BoundTypes", Stage: func(c *ast.Compiler) *ast.Error {
		if err := refuseHugeTypes(c); err != nil {
			return err
		}
		noSuch = p.noSuchRules(c)
		if bounded != nil {
			bounded()
		}
		return nil
	}})
	if c.Compile(modules); !c.Failed() {
		return noSuch.orNil()
	}
	parsedAgain, err := p.modules() // the compiler has rewritten the names in its own
	if err != nil {
		return err
	}
	errs := append(vocabulary{parsedAgain}.fromOPA(c.Errors, CodeType), noSuch...)
	errs.sort()
	return errs
}

// fromOPA turns OPA's errors into ours.
func fromOPA(err error, code string) Errors { return vocabulary{}.fromOPA(err, code) }

func (v vocabulary) fromOPA(err error, code string) (out Errors) {
	var list ast.Errors
	var one *ast.Error
	switch {
	case errors.As(err, &list):
	case errors.As(err, &one):
		list = ast.Errors{one}
	default:
		return Errors{{Code: code, Message: err.Error()}}
	}
	if code == CodeParse {
		return parseErrors(list)
	}
	out, list = recursion(list)
	for _, e := range list {
		message, other := v.reword(e)
		out = append(out, at(cmp.Or(other, code), e.Location, "%s", message))
	}
	out.sort()
	return out
}
