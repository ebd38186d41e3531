package rewrite

import (
	"fmt"
	"regexp"
)

// rewriter holds what is learned from the whole module before any section is written.
type rewriter struct {
	opts Options

	importsWithoutMemory []byte
	importedFunctions    uint32
	abort                uint32 // the function index of the imported opa_abort
	minPages             uint32
	names                map[uint32]string
	nullable             map[uint32]bool
	sites                []Site

	// The indexes of the new globals.
	fuel, fault, scratch, frame     uint32
	sawGlobals, sawExports, sawCode bool

	memo *memo
}

// policyFunction matches the names that OPA's planner gives to compiled rules: g0.data.pkg.rule, g1... under `with`.
var policyFunction = regexp.MustCompile(`^g\d+\.`)

func (m *rewriter) survey(sections []section) error {
	m.names, m.nullable = map[uint32]string{}, map[uint32]bool{}
	for _, s := range sections {
		var err error
		switch {
		case s.id == sectionImport:
			err = m.readImports(s.body)
		case s.id == sectionGlobal:
			r := &reader{b: s.body}
			m.fuel = r.u32()
			m.fault, m.scratch, m.frame = m.fuel+1, m.fuel+2, m.fuel+3
			err = r.err
		case s.id == sectionCustom:
			err = m.readNames(s.body)
		}
		if err != nil {
			return err
		}
	}
	if m.abort == 0 {
		return fmt.Errorf("%w: it does not import env.opa_abort", ErrUnsupported)
	}
	m.abort--
	for index, name := range m.names {
		if index >= m.importedFunctions && m.opts.Nullable != nil && m.opts.Nullable(name) {
			m.nullable[index] = true
		}
	}
	m.planMemo()
	return nil
}

// readImports copies the import section without env.memory. An imported global would shift the indexes that we append, so
// it is refused.
func (m *rewriter) readImports(body []byte) error {
	r := &reader{b: body}
	count := r.u32()
	var kept []byte
	var keptCount, memories uint32
	for range count {
		start := r.at
		module, name, kind := r.name(), r.name(), r.byte()
		switch kind {
		case 0:
			r.u32()
			if module == "env" && name == "opa_abort" {
				m.abort = m.importedFunctions + 1
			}
			m.importedFunctions++
		case 2:
			hasMax := r.byte()
			m.minPages = r.u32()
			if hasMax&1 == 1 {
				r.u32()
			}
			memories++
			continue
		default:
			return fmt.Errorf("%w: import %s.%s is neither a function nor a memory", ErrUnsupported, module, name)
		}
		if r.err != nil {
			return fmt.Errorf("read imports: %w", r.err)
		}
		kept = append(kept, body[start:r.at]...)
		keptCount++
	}
	if r.err != nil {
		return fmt.Errorf("read imports: %w", r.err)
	}
	if memories != 1 {
		return fmt.Errorf("%w: it imports %d memories, not 1", ErrUnsupported, memories)
	}
	if m.minPages > m.opts.MaxPages {
		return fmt.Errorf("%w: it needs %d pages of memory, the limit is %d", ErrUnsupported, m.minPages, m.opts.MaxPages)
	}
	m.importsWithoutMemory = append(appendU32(nil, keptCount), kept...)
	return nil
}

// readNames reads the function names of the name section; other custom sections are left alone.
func (m *rewriter) readNames(body []byte) error {
	r := &reader{b: body}
	if r.name() != "name" {
		return nil
	}
	for !r.done() {
		id, size := r.byte(), r.u32()
		part := &reader{b: r.bytes(size)}
		if id != 1 {
			continue
		}
		for range part.u32() {
			index := part.u32()
			m.names[index] = part.name()
			if part.err != nil {
				return fmt.Errorf("read function names: %w", part.err)
			}
		}
	}
	if r.err != nil {
		return fmt.Errorf("read names: %w", r.err)
	}
	return nil
}

func (m *rewriter) memorySection() []byte {
	out := []byte{1, 1} // one memory, with a maximum
	out = appendU32(out, m.minPages)
	return appendU32(out, m.opts.MaxPages)
}

const newGlobals = 4

func (m *rewriter) globalSection(body []byte) ([]byte, error) {
	r := &reader{b: body}
	count := r.u32()
	if r.err != nil {
		return nil, fmt.Errorf("read globals: %w", r.err)
	}
	out := appendU32(nil, count+newGlobals)
	out = append(out, body[r.at:]...)
	for range newGlobals {
		out = append(out, 0x7f, 1, 0x41, 0, 0x0b) // mutable i32, starts at 0
	}
	return out, nil
}

func (m *rewriter) exportSection(body []byte) ([]byte, error) {
	r := &reader{b: body}
	count := r.u32()
	if r.err != nil {
		return nil, fmt.Errorf("read exports: %w", r.err)
	}
	out := appendU32(nil, count+2)
	out = append(out, body[r.at:]...)
	out = appendU32(append(appendName(out, FuelExport), 3), m.fuel)
	return appendU32(append(appendName(out, FaultExport), 3), m.fault), nil
}
