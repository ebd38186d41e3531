package rewrite

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plain is a module whose functions show that indexes are where they were: one calls another by index, one returns the
// sum of both globals, one passes its argument to a host function.
var plain = module{functions: []function{
	{name: "double", kind: typeUnary, body: []byte{opLocalGet, 0, opLocalGet, 0, opI32Add}},
	{name: "quadruple", kind: typeUnary, body: []byte{opLocalGet, 0, opCall, firstOwn, opCall, firstOwn}},
	{name: "globals", kind: typeUnary, body: []byte{opGlobalGet, 0, opGlobalGet, 1, opI32Add}},
	{name: "ask", kind: typeUnary, body: []byte{opI32Const, 1, opI32Const, 0, opLocalGet, 0, opCall, funcBuiltin}},
	{name: "give up", kind: typeEffect, body: []byte{opLocalGet, 0, opCall, funcAbort}},
}}

func TestMemoryBecomesItsOwn(t *testing.T) {
	out, r := rewritten(t, plain)
	assert.EqualValues(t, 1, out.MinPages)
	definition := r.Memory().Definition()
	_, _, imported := definition.Import()
	assert.False(t, imported)
	assert.EqualValues(t, 1, definition.Min())
	highest, limited := definition.Max()
	assert.True(t, limited)
	assert.EqualValues(t, 16, highest)
}

func TestIndexesStay(t *testing.T) {
	_, r := rewritten(t, plain)
	r.answer = 5
	assert.Equal(t, []uint64{12}, r.call("quadruple", 3))
	assert.Equal(t, []uint64{15}, r.call("globals", 0))
	assert.Equal(t, []uint64{5}, r.call("ask", 1))
	r.call("give up", 99)
	assert.Equal(t, []int32{99}, r.aborts)
	assert.EqualValues(t, 7, r.ExportedGlobal("global").Get())
}

func TestRefusals(t *testing.T) {
	with := func(change func(sections [][]byte) [][]byte) []byte {
		return slices.Concat([]byte(header), slices.Concat(change(plain.sections())...))
	}
	replace := func(i int, section []byte) []byte {
		return with(func(s [][]byte) [][]byte { return slices.Replace(s, i, i+1, section) })
	}
	insert := func(i int, section []byte) []byte {
		return with(func(s [][]byte) [][]byte { return slices.Insert(s, i, section) })
	}
	without := func(i int) []byte {
		return with(func(s [][]byte) [][]byte { return slices.Delete(s, i, i+1) })
	}
	imports := func(list ...[]byte) []byte { return replace(1, sec(sectionImport, vec(list...))) }
	abort, memory := importOf("opa_abort", 0, typeEffect), importOf("memory", 2, 0, 1)
	body := func(code ...byte) []byte {
		return module{functions: []function{{name: "f", kind: typeNothing, body: code}}}.bytes()
	}
	global := []byte{typeI32, 1, opI32Const, 7, opEnd}
	foreign := append(text("g"), exportGlobal, 2)
	const neither = "is neither a function nor env.memory"
	stranger := slices.Concat(text("name"), []byte{1}, sized(vec(append([]byte{7}, text("x")...))))
	for _, c := range []struct {
		name string
		wasm []byte
		want string
	}{
		{"empty", nil, "no WebAssembly version 1 header"},
		{"version 2", []byte("\x00asm\x02\x00\x00\x00"), "no WebAssembly version 1 header"},
		{"header alone", []byte(header), "it has no section 2"},
		{"no globals", without(3), "it has no section 6"},
		{"no code", without(5), "it has no section 10"},
		{"own memory", insert(3, sec(sectionMemory, vec([]byte{0, 1}))), "it has a memory of its own"},
		{"disorder", insert(2, sec(sectionGlobal, vec(global))), "section 3 after 6"},
		{"section twice", insert(1, plain.sections()[1]), "section 2 after 2"},
		{"data count", insert(5, sec(12, []byte{0})), "section 12 after 7"},

		{"no abort", imports(memory), "it does not import env.opa_abort"},
		{"no memory", imports(abort), "it imports 0 memories, not 1"},
		{"two memories", imports(abort, memory, memory), "it imports 2 memories, not 1"},
		{"imported global", imports(importOf("g", 3, typeI32, 0)), `import "env"."g" ` + neither},
		{"imported table", imports(importOf("t", 1, 0x70, 0, 0)), `import "env"."t" ` + neither},
		{"other memory", imports(importOf("mem", 2, 0, 1)), `import "env"."mem" ` + neither},
		{"shared memory", imports(importOf("memory", 2, 3, 1, 2)), "env.memory has the flags 0x03"},
		{"large memory", imports(importOf("memory", 2, 0, 17)), "it needs 17 pages of memory, the limit is 16"},
		{"bad maximum", imports(importOf("memory", 2, 1, 2, 1)), "the maximum of env.memory is below its minimum"},

		{"foreign export", replace(4, sec(sectionExport, vec(foreign))), `export "g" is global 2 of 2`},
		{"foreign read", body(opGlobalGet, 2, 0x1a), "it uses global 2 of 2"},
		{"foreign write", body(opI32Const, 1, opGlobalSet, 3), "it uses global 3 of 2"},
		{"foreign name", replace(6, sec(sectionCustom, stranger)), "it names a function 7 of 7"},
		{"opcode", body(0xfd), "opcode 0xfd"},
		{"extended opcode", body(0xfc, 12), "opcode 0xfc 12"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Rewrite(c.wasm, options())
			require.ErrorIs(t, err, ErrUnsupported)
			assert.Regexp(t, "unsupported module: "+regexp.QuoteMeta(c.want)+"$", err.Error())
		})
	}
}

// TestBadSections has the exact messages, with the place, for sections that are not well-formed.
func TestBadSections(t *testing.T) {
	global := vec([]byte{typeI32, 1, opI32Const, 7, opEnd})
	abort, memory := importOf("opa_abort", 0, typeEffect), importOf("memory", 2, 0, 1)
	for _, c := range []struct {
		at   int
		body []byte
		want string
	}{
		{1, vec(abort, memory, memory[:3]), "read imports: at byte 32: ends early"},
		{1, append(vec(abort, memory), 0), "read imports: at byte 31: more bytes than expected"},
		{3, append(global, 0), "read globals: at byte 6: more bytes than expected"},
		{3, global[:4], "read globals: at byte 4: ends early"},
		{4, vec(append(text("g"), exportGlobal)), "read exports: at byte 4: ends early"},
		{5, vec([]byte{3, 0, 0xfe, opEnd}), "rewrite code: at byte 5: function 2 (double): unsupported module: opcode 0xfe"},
		{
			5, vec([]byte{5, 0xff, 0xff, 0xff, 0xff, 0x0f}),
			"rewrite code: at byte 7: function 2 (double): at byte 5: ends early",
		},
		{5, vec([]byte{2, 0, opI32Const}), "rewrite code: at byte 4: function 2 (double): at byte 2: ends early"},
		{6, append(text("name"), 1, 3, 1, 2), "read function names: at byte 0: ends early"},
		{6, append(text("name"), 1, 3, 1, 2, 9), "read function names: at byte 3: ends early"},
	} {
		sections := plain.sections()
		sections[c.at] = sec(sections[c.at][0], c.body)
		_, err := Rewrite(slices.Concat([]byte(header), slices.Concat(sections...)), options())
		assert.EqualError(t, err, c.want)
	}
}

// TestTruncated cuts a module at every byte, and every section at every byte of its body with its size set right, so
// that each reader meets the end of its input everywhere.
func TestTruncated(t *testing.T) {
	m := module{functions: append(slices.Clone(plain.functions), function{
		name: "g0.data.p.q", kind: typeNothing, locals: 1,
		body: countdown(0, 0x0e, 1, 0, 0, 0x44, 0, 0, 0, 0, 0, 0, 0, 0, 0x1a),
	})}
	wasm, sections := m.bytes(), m.sections()
	for n := range len(wasm) {
		_, err := Rewrite(wasm[:n:n], options())
		namesMissing := n == len(wasm)-len(sections[6])
		assert.Equal(t, namesMissing, err == nil, "the first %d bytes: %v", n, err)
	}
	for i, section := range sections {
		r := &reader{b: section, at: 1}
		body := r.bytes(r.u32())
		for n := range len(body) {
			cut := m.sections()
			cut[i] = sec(section[0], body[:n:n])
			_, err := Rewrite(slices.Concat([]byte(header), slices.Concat(cut...)), options())
			// Types and the kinds of functions are the engine's business; a custom section is one of names by its title.
			accepted := section[0] == 1 || section[0] == sectionFunction && n > 0 || section[0] == sectionCustom && n <= 5
			assert.Equal(t, accepted, err == nil, "section %d at %d: %v", section[0], n, err)
		}
	}
}

// TestCountsAreNotBelieved gives counts of four billion, which must not be looped over.
func TestCountsAreNotBelieved(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	for i, section := range plain.sections()[1:6] {
		if section[0] == sectionFunction {
			continue
		}
		sections := plain.sections()
		sections[i+1] = sec(section[0], huge)
		start := time.Now()
		_, err := Rewrite(slices.Concat([]byte(header), slices.Concat(sections...)), options())
		require.Error(t, err, "section %d", section[0])
		assert.Less(t, time.Since(start), time.Second)
	}
}
