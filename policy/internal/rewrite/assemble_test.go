package rewrite

import "slices"

// module is a small WebAssembly module in the shape of OPA's: it imports env.opa_abort, env.opa_builtin1 and
// env.memory, has the globals 0 (mutable, 7) and 1 (constant, 8) and the functions given.
type module struct {
	functions []function
	unnamed   bool
	// tail are sections behind the code.
	tail [][]byte
}

type function struct {
	name   string
	kind   byte // an index into the types below
	locals byte // the number of i32 variables
	body   []byte
}

// The function types and the indexes of the imports.
const (
	typeEffect  = 0 // (i32)
	typeUnary   = 1 // (i32) i32
	typeHost    = 2 // (i32 i32 i32) i32
	typeNothing = 3 // ()
	typeBinary  = 4 // (i32 i32)

	funcAbort   = 0
	funcBuiltin = 1
	firstOwn    = 2
)

func (m module) bytes() []byte { return slices.Concat([]byte(header), slices.Concat(m.sections()...)) }

func (m module) sections() [][]byte {
	var kinds, exports, codes, names [][]byte
	for i, f := range m.functions {
		index := byte(firstOwn + i)
		kinds = append(kinds, []byte{f.kind})
		exports = append(exports, append(text(f.name), 0, index))
		code := slices.Concat([]byte{1, f.locals, typeI32}, f.body, []byte{opEnd})
		codes = append(codes, append(appendU32(nil, uint32(len(code))), code...))
		names = append(names, append([]byte{index}, text(f.name)...))
	}
	exports = append(exports, append(text("memory"), 2, 0), append(text("global"), exportGlobal, 0))
	i32 := byte(typeI32)
	out := [][]byte{
		sec(1, vec([]byte{0x60, 1, i32, 0}, []byte{0x60, 1, i32, 1, i32}, []byte{0x60, 3, i32, i32, i32, 1, i32},
			[]byte{0x60, 0, 0}, []byte{0x60, 2, i32, i32, 0})),
		sec(sectionImport, vec(importOf("opa_abort", 0, typeEffect), importOf("memory", 2, 0, 1),
			importOf("opa_builtin1", 0, typeHost))),
		sec(sectionFunction, vec(kinds...)),
		sec(sectionGlobal, vec([]byte{i32, 1, opI32Const, 7, opEnd}, []byte{i32, 0, opI32Const, 8, opEnd})),
		sec(sectionExport, vec(exports...)),
		sec(sectionCode, vec(codes...)),
	}
	out = append(out, m.tail...)
	if !m.unnamed {
		functionNames := vec(names...)
		out = append(out, sec(sectionCustom, slices.Concat(text("name"), []byte{1}, sized(functionNames))))
	}
	return out
}

func sec(id byte, body []byte) []byte { return append([]byte{id}, sized(body)...) }

func sized(b []byte) []byte { return append(appendU32(nil, uint32(len(b))), b...) }

func vec(items ...[]byte) []byte {
	return append(appendU32(nil, uint32(len(items))), slices.Concat(items...)...)
}

func text(s string) []byte { return appendName(nil, s) }

func importOf(name string, description ...byte) []byte {
	return slices.Concat(text("env"), text(name), description)
}

// countdown is `for v != 0 { v--; inner }` over a local variable.
func countdown(local byte, inner ...byte) []byte {
	return slices.Concat([]byte{0x02, blockEmpty, opLoop, blockEmpty, opLocalGet, local, opI32Eqz, 0x0d, 1},
		[]byte{opLocalGet, local, opI32Const, 1, opI32Sub, 0x21, local}, inner, []byte{0x0c, 0, opEnd, opEnd})
}
