// Package rewrite changes a WebAssembly module that OPA compiled so that it can be hosted safely: its imported memory
// becomes its own with a maximum, it counts fuel, and it remembers when a builtin failed. It works on bytes alone and
// must not know wazero, Rego or what the module decides. Whatever it does not understand it refuses.
//
// Every addition goes to the end of its index space, so no existing index moves.
package rewrite

import (
	"bytes"
	"errors"
	"fmt"
)

// The names under which the rewritten module exports what the host reads and sets.
const (
	// FuelExport is an i32 global that falls by one at every loop header and policy function entry. Below zero the module
	// calls opa_abort(Sentinel): the host refills it or ends the evaluation. It starts at its maximum.
	FuelExport = "tiergate_fuel"
	// FaultExport is an i32 global: 1 + the index into Module.Sites of the first builtin call of this evaluation that
	// returned no value, else 0. The host resets it.
	FaultExport = "tiergate_fault"
	// SiteExport is an i32 global: while the module calls a host builtin from a rule, 1 + the index of that call in
	// Module.Sites.
	SiteExport = "tiergate_site"
	// ResultExport is an i32 global: the first result of an evaluation, 0 if none. It is in the set of results only where
	// there are several. The host resets it.
	ResultExport = "tiergate_result"
)

// The addresses given to opa_abort when fuel ran out, and when a text to parse is nested too deeply; no string of the
// module can be there.
const (
	Sentinel = -1
	TooDeep  = -2
)

// ErrUnsupported marks a module that is valid perhaps, but not of the shape that OPA's compiler gives.
var ErrUnsupported = errors.New("unsupported module")

// Options say what to build in.
type Options struct {
	// MaxPages is the maximum of the module's memory in pages of 64 KiB.
	MaxPages uint32
	// MaxDepth is how deep a text that a policy parses may be nested.
	MaxDepth uint32
	// Nullable tells by its C name whether a builtin that returns no value has failed; others may be undefined rightly.
	Nullable func(name string) bool
}

// Module is a rewritten module.
type Module struct {
	Bytes []byte
	// MinPages is the memory that the module declares as needed from the start.
	MinPages uint32
	// Complete is true where the functions of OPA's runtime that Rewrite changes were all found by their names. Otherwise
	// the module hashes strings in its own way, and ResultExport stays 0.
	Complete bool
	// Sites are the builtin calls that FaultExport and SiteExport speak of.
	Sites []Site
}

// Site is one call of a builtin in a rule, both by their names in the module: g0.data.pkg.rule and opa_arith_divide,
// or opa_builtin1 for a host builtin.
type Site struct {
	Rule, Builtin string
}

// The section ids of the WebAssembly binary format, in the order in which they must stand.
const (
	sectionCustom   = 0
	sectionImport   = 2
	sectionFunction = 3
	sectionMemory   = 5
	sectionGlobal   = 6
	sectionExport   = 7
	sectionCode     = 10
	sectionData     = 11
)

// header is the magic number and the version.
const header = "\x00asm\x01\x00\x00\x00"

type section struct {
	id   byte
	body []byte
}

// Rewrite returns the hosted form of a module. It checks as much of the module as its own additions could make valid;
// the engine that compiles the result checks the rest.
func Rewrite(wasm []byte, opts Options) (*Module, error) {
	sections, err := split(wasm)
	if err != nil {
		return nil, err
	}
	m := &rewriter{opts: opts}
	if err := m.survey(sections); err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(wasm)+len(wasm)/4), header...)
	memoryDone := false
	for _, s := range sections {
		if !memoryDone && s.id > sectionMemory {
			out = appendSection(out, sectionMemory, m.memorySection())
			memoryDone = true
		}
		body, err := m.section(s)
		if err != nil {
			return nil, err
		}
		out = appendSection(out, s.id, body)
	}
	return &Module{Bytes: out, MinPages: m.minPages, Sites: m.sites, Complete: m.known && m.results}, nil
}

func (m *rewriter) section(s section) ([]byte, error) {
	switch s.id {
	case sectionImport:
		return m.importsWithoutMemory, nil
	case sectionMemory:
		return nil, fmt.Errorf("%w: it has a memory of its own", ErrUnsupported)
	case sectionGlobal:
		return m.globalSection(s.body)
	case sectionExport:
		return m.exportSection(s.body)
	case sectionCode:
		return m.codeSection(s.body)
	default:
		return s.body, nil
	}
}

// split cuts a module into its sections and demands that they stand in order, since the new memory section is placed
// by order.
func split(wasm []byte) ([]section, error) {
	if !bytes.HasPrefix(wasm, []byte(header)) {
		return nil, fmt.Errorf("%w: no WebAssembly version 1 header", ErrUnsupported)
	}
	var sections []section
	r := &reader{b: wasm, at: len(header)}
	last := byte(0)
	for !r.done() {
		id := r.byte()
		body := r.bytes(r.u32())
		if r.err != nil {
			return nil, fmt.Errorf("read section %d: %w", id, r.err)
		}
		// The data count section (12) stands between element and code; ids above code and data are not OPA's.
		if id > 11 || (id != sectionCustom && id <= last) {
			return nil, fmt.Errorf("%w: section %d after %d", ErrUnsupported, id, last)
		}
		if id != sectionCustom {
			last = id
		}
		sections = append(sections, section{id, body})
	}
	return sections, nil
}

func appendSection(out []byte, id byte, body []byte) []byte {
	out = append(out, id)
	out = appendU32(out, uint32(len(body)))
	return append(out, body...)
}
