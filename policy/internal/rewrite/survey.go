package rewrite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// rewriter holds what is learned from the whole module before any section is written.
type rewriter struct {
	opts Options

	importsWithoutMemory []byte
	importedFunctions    uint32
	functions            uint32 // imported and own
	abort                uint32 // the imported opa_abort
	minPages             uint32
	names                map[uint32]string
	// hostCalls are the imported functions that call a host builtin, nullable the builtins that fail by returning no
	// value.
	hostCalls, nullable map[uint32]string
	sites               []Site

	// globals is the number of the module's own, which the new ones follow.
	globals                               uint32
	fuel, fault, site, frame, set, result uint32

	memo *memo
	// known is true where the functions of OPA's runtime that are changed by name are there.
	known bool
	// results is true where the set of results was found.
	results bool
}

const newGlobals = 6

// policyFunction matches the names that OPA's planner gives to compiled rules: g0.data.pkg.rule, g1... under `with`.
var policyFunction = regexp.MustCompile(`^g\d+\.`)

func (m *rewriter) survey(sections []section) error {
	m.names, m.hostCalls, m.nullable = map[uint32]string{}, map[uint32]string{}, map[uint32]string{}
	present := map[byte]bool{}
	for _, s := range sections {
		present[s.id] = true
		var err error
		switch s.id {
		case sectionImport:
			err = m.readImports(s.body)
		case sectionFunction:
			m.functions = m.importedFunctions + (&reader{b: s.body}).u32()
		case sectionGlobal:
			m.globals = (&reader{b: s.body}).u32()
		case sectionData:
			err = m.readData(s.body)
		case sectionCustom:
			err = m.readNames(s.body)
		}
		if err != nil {
			return err
		}
	}
	for _, id := range []byte{sectionImport, sectionFunction, sectionGlobal, sectionExport, sectionCode} {
		if !present[id] {
			return fmt.Errorf("%w: it has no section %d", ErrUnsupported, id)
		}
	}
	m.fuel, m.fault, m.site = m.globals, m.globals+1, m.globals+2
	m.frame, m.set, m.result = m.globals+3, m.globals+4, m.globals+5
	if err := m.useNames(); err != nil {
		return err
	}
	m.planMemo()
	m.known = m.hasEach(hashFunction, compareFunction, setAddFunction, evalFunction)
	return nil
}

// hasEach tells whether each name is that of exactly one function of the module's own.
func (m *rewriter) hasEach(names ...string) bool {
	found := map[string]int{}
	for index, name := range m.names {
		if index >= m.importedFunctions {
			found[name]++
		}
	}
	return !slices.ContainsFunc(names, func(name string) bool { return found[name] != 1 })
}

func (m *rewriter) useNames() error {
	for index, name := range m.names {
		switch {
		case index >= m.functions:
			return fmt.Errorf("%w: it names a function %d of %d", ErrUnsupported, index, m.functions)
		case index >= m.importedFunctions && m.opts.Nullable != nil && m.opts.Nullable(name):
			m.nullable[index] = name
		}
	}
	return nil
}

// readImports copies the import section without env.memory. An imported global would shift the indexes that we append,
// so it is refused.
func (m *rewriter) readImports(body []byte) error {
	r := &reader{b: body}
	var kept []byte
	var aborts, memories int
	count := r.repeat(func() {
		start := r.at
		module, name, kind := r.name(), r.name(), r.byte()
		switch {
		case kind == 2 && module == "env" && name == "memory":
			memories++
			m.readMemory(r)
			return
		case kind != 0:
			r.fail(fmt.Errorf("%w: import %q.%q is neither a function nor env.memory", ErrUnsupported, module, name))
		case module == "env" && name == "opa_abort":
			aborts++
			m.abort = m.importedFunctions
		case module == "env" && strings.HasPrefix(name, "opa_builtin"):
			m.hostCalls[m.importedFunctions] = name
		}
		r.u32()
		m.importedFunctions++
		kept = append(kept, body[start:r.at]...)
	})
	if err := r.finish(); err != nil {
		return fmt.Errorf("read imports: %w", err)
	}
	if memories != 1 {
		return fmt.Errorf("%w: it imports %d memories, not 1", ErrUnsupported, memories)
	}
	if aborts != 1 {
		return fmt.Errorf("%w: it does not import env.opa_abort", ErrUnsupported)
	}
	m.importsWithoutMemory = append(appendU32(nil, count-1), kept...)
	return nil
}

func (m *rewriter) readMemory(r *reader) {
	flags := r.byte()
	m.minPages = r.u32()
	switch {
	case flags > 1:
		r.fail(fmt.Errorf("%w: env.memory has the flags 0x%02x", ErrUnsupported, flags))
	case flags == 1 && r.u32() < m.minPages:
		r.fail(fmt.Errorf("%w: the maximum of env.memory is below its minimum", ErrUnsupported))
	case m.minPages > m.opts.MaxPages:
		r.fail(fmt.Errorf("%w: it needs %d pages of memory, the limit is %d", ErrUnsupported, m.minPages, m.opts.MaxPages))
	}
}

// readNames reads the function names of the name section; other custom sections are left alone.
func (m *rewriter) readNames(body []byte) error {
	r := &reader{b: body}
	if r.name() != "name" {
		return nil
	}
	for !r.done() {
		id := r.byte()
		part := &reader{b: r.bytes(r.u32())}
		if id != 1 {
			continue
		}
		part.repeat(func() { m.names[part.u32()] = part.name() })
		if part.err != nil {
			return fmt.Errorf("read function names: %w", part.err)
		}
	}
	if r.err != nil {
		return fmt.Errorf("read names: %w", r.err)
	}
	return nil
}
