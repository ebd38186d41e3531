package rewrite

import "fmt"

func (m *rewriter) codeSection(body []byte) ([]byte, error) {
	r := &reader{b: body}
	var bodies []byte
	index := m.importedFunctions
	count := r.repeat(func() {
		code := r.bytes(r.u32())
		if r.err != nil {
			return
		}
		rewritten := m.memoBody(index)
		if rewritten == nil {
			var err error
			if rewritten, err = m.function(index, code); err != nil {
				r.fail(fmt.Errorf("function %d (%s): %w", index, m.names[index], err))
				return
			}
		}
		bodies = appendU32(bodies, uint32(len(rewritten)))
		bodies = append(bodies, rewritten...)
		index++
	})
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("rewrite code: %w", err)
	}
	return append(appendU32(nil, count), bodies...), nil
}

// edit copies code, with additions.
type edit struct {
	code, out []byte
	copied    int
}

// insert puts b before the byte at.
func (e *edit) insert(at int, b []byte) { e.replace(at, at, b) }

// replace puts b in the place of the bytes from start to end.
func (e *edit) replace(start, end int, b []byte) {
	e.out = append(append(e.out, e.code[e.copied:start]...), b...)
	e.copied = end
}

func (e *edit) finish() []byte { return append(e.out, e.code[e.copied:]...) }

// part is a function while it is rewritten.
type part struct {
	edit
	name string
	// Loops bound what big inputs cost. Only rules can also build loop-free cascades of calls, so only they pay at their
	// entry. Queries are compiled into eval. Without a name section every function is taken for a rule.
	rule    bool
	metered bool // its loops have fuel checks
	// last are the two instructions before the present one, results the local variable with the set of results in eval.
	last    [2]instruction
	results uint32
}

type instruction struct {
	op     byte
	target uint32
}

// function copies one body with what this package adds to it.
func (m *rewriter) function(index uint32, code []byte) ([]byte, error) {
	name, named := m.names[index]
	p := &part{
		edit: edit{code: code, out: make([]byte, 0, len(code)+len(code)/3)},
		name: name, metered: true,
		rule: !named || name == evalFunction || policyFunction.MatchString(name),
	}
	r := &reader{b: code}
	if err := m.prologue(p, r); err != nil {
		return nil, err
	}
	for !r.done() {
		start := r.at
		op, target, err := r.instruction()
		if err == nil {
			err = m.adorn(p, op, target, start, r.at)
		}
		if err != nil {
			return nil, err
		}
		p.last = [2]instruction{p.last[1], {op, target}}
	}
	return p.finish(), r.err
}

// prologue reads the declarations of local variables and adds what a function begins with.
func (m *rewriter) prologue(p *part, r *reader) error {
	groups := r.u32()
	declarations := r.at
	locals := uint64(0)
	for i := uint32(0); i < groups && r.err == nil; i++ { // a count and a type
		locals += uint64(r.u32())
		r.byte()
	}
	if r.err != nil {
		return r.err
	}
	// declare adds variables; the functions that need any have one parameter.
	declare := func(types ...byte) byte {
		p.replace(0, declarations, appendU32(nil, groups+uint32(len(types))))
		for _, t := range types {
			p.insert(r.at, []byte{1, t})
		}
		return byte(1 + locals)
	}
	prologue := map[string]func() []byte{
		hashFunction:      func() []byte { return m.hashPrologue(declare(typeI64, typeI32, typeI32)) },
		compareFunction:   m.comparePrologue,
		unmarshalFunction: func() []byte { return m.depthPrologue(declare(typeI32, typeI32, typeI32)) },
		isValidFunction:   func() []byte { return m.depthPrologue(declare(typeI32, typeI32, typeI32)) },
	}[p.name]
	switch {
	case p.rule:
		p.insert(r.at, m.fuelCheck())
	case m.known && prologue != nil:
		if locals > maxLocals {
			return fmt.Errorf("%w: it has %d local variables", ErrUnsupported, locals)
		}
		p.metered = p.name != compareFunction // what is left to its loop is a few bytes
		b := prologue()
		p.insert(r.at, b)
	}
	return nil
}

// adorn adds to an instruction, which stands from start to end: the fuel check to a loop, the number of the site to a
// call of a host builtin, and the fault note to a call of a builtin of the module's own that fails by returning no
// value. In eval it keeps the first result out of the set of results.
func (m *rewriter) adorn(p *part, op byte, target uint32, start, end int) error {
	switch {
	case op == opLoop && p.metered:
		p.insert(end, m.fuelCheck())
	case op == opGlobalGet || op == opGlobalSet:
		if target >= m.globals {
			return fmt.Errorf("%w: it uses global %d of %d", ErrUnsupported, target, m.globals)
		}
	case op == opI32Store && p.name == evalFunction:
		p.findResults(target)
	case op != opCall || !p.rule:
	case p.addsResult(m.names[target]):
		p.replace(start, end, m.resultNote(target))
		m.results = true
	case m.hostCalls[target] != "":
		p.insert(start, m.siteNote(m.addSite(p.name, m.hostCalls[target])))
	case m.nullable[target] != "":
		p.insert(end, m.faultNote(m.addSite(p.name, m.nullable[target])))
	}
	return nil
}
