package host

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct{ name, rule, want string }{
		{
			"scalars", `q := [null, true, false, 0, -1, 1.50, 1e3, "", 123456789012345678901234567890]`,
			`[null,true,false,0,-1,1.50,1e3,"",123456789012345678901234567890]`,
		},
		{"names are sorted", `q := {"b": 1, "a": 2, "": 3, "aa": 4, "B": 5}`, `{"":3,"B":5,"a":2,"aa":4,"b":1}`},
		{
			"many names", `q := {x: i | some i, x in split("s r q p o n m l k j i h g f e d c b a", " ")}`,
			`{"a":18,"b":17,"c":16,"d":15,"e":14,"f":13,"g":12,"h":11,"i":10,"j":9,"k":8,"l":7,"m":6,"n":5,"o":4,"p":3,` +
				`"q":2,"r":1,"s":0}`,
		},
		{
			"names that are not texts", `q := {1: "a", true: "b", [1, "x"]: "c", {2}: "d", null: "e", {"k": 3}: "f"}`,
			`{"1":"a","[1,\"x\"]":"c","[2]":"d","null":"e","true":"b","{\"k\":3}":"f"}`,
		},
		{"sets by value", `q := {10, 9, 100, -1, 3000000000}`, `[-1,9,10,100,3000000000]`},
		{"sets by text", `q := {"b", "a", [1], {"x": 1}, null, 2.5, 2}`, `[2,"a","b",2.5,[1],null,{"x":1}]`},
		{"sets in sets", `q := {{3, 1}, {2}, set(), {{1}}}`, `[[1,3],[2],[[1]],[]]`},
		{"empty", `q := [[], {}, set()]`, `[[],{},[]]`},
		{
			"characters", `q := "\"\\/\b\f\n\r\t\u0001\u007fé€😀\u2028"`,
			`"\"\\/\u0008\u000c\n\r\t\u0001` + "\u007fé€😀\u2028\"",
		},
		{"what is not UTF-8", `q := base64.decode("/2H/")`, `"` + "\ufffd" + `a` + "\ufffd" + `"`},
		{"an escape after eight bytes", `q := "12345678\n12345678"`, `"12345678\n12345678"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, defined, err := load(t, `{}`, []string{"p/q"}, "package p\n"+c.rule).Eval(t.Context(), 0, nil, []byte(">"))
			require.NoError(t, err)
			assert.True(t, defined)
			assert.Equal(t, ">"+c.want, string(out))
			assert.True(t, json.Valid(out[1:]))
		})
	}
}

func TestUndefinedIsNotEmpty(t *testing.T) {
	in := load(t, `{}`, []string{"p/q"}, "package p\nq := input.a")
	out, defined, err := in.Eval(t.Context(), 0, []byte(`{}`), []byte("kept"))
	require.NoError(t, err)
	assert.False(t, defined)
	assert.Equal(t, "kept", string(out))
	out, defined, err = in.Eval(t.Context(), 0, []byte(`{"a":false}`), nil)
	require.NoError(t, err)
	assert.True(t, defined)
	assert.Equal(t, "false", string(out))
}

func TestDecodeRefusesWhatIsNoNumber(t *testing.T) {
	for _, text := range []string{"007", "1.", "-", ".5"} {
		in := load(t, `{}`, []string{"p/q"}, "package p\nq := to_number(input)")
		_, _, err := in.Eval(t.Context(), 0, []byte(`"`+text+`"`), nil)
		if err == nil || !strings.Contains(err.Error(), "refused") {
			assert.EqualError(t, err, `evaluation trapped: the result has "`+text+`" for a number`)
		}
	}
}

// TestConstantsAreRemembered: what of the data document a result contains is printed once per instance, up to a bound.
func TestConstantsAreRemembered(t *testing.T) {
	long := strings.Repeat("x", rememberedBytes)
	data := `{"list":[{"b":[1,{}],"a":null},[],"text"],"long":["` + long + `"]}`
	in := load(t, data, []string{"p/q"}, "package p\nq := [data.list[input.i], data.list[input.i], [input.i], data.long]")
	for i, want := range []string{`{"a":null,"b":[1,{}]}`, `[]`, `"text"`, `{"a":null,"b":[1,{}]}`} {
		out, _, err := in.Eval(t.Context(), 0, []byte(`{"i":`+string('0'+rune(i%3))+`}`), nil)
		require.NoError(t, err)
		assert.Equal(t, `[`+want+`,`+want+`,[`+string('0'+rune(i%3))+`],["`+long+`"]]`, string(out))
	}
	assert.Len(t, in.dec.remembered, 2, "neither what is inside of another one nor what is too long")
	assert.Equal(t, len(`{"a":null,"b":[1,{}]}`+`[]`), in.dec.remembers)
}

// FuzzDecode reads memory that means nothing: the decoder and the reader for builtins must neither panic nor go on for
// ever, and what the decoder makes must be JSON.
func FuzzDecode(f *testing.F) {
	number := []byte{tagNumber, numberInt, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}
	f.Add(number, uint32(0))
	f.Add(append([]byte{tagString, 0, 0, 0, 2, 0, 0, 0, 12, 0, 0, 0}, "\"\xff"...), uint32(0))
	// An array that contains itself twice, an object whose chain is a cycle, a set of itself.
	words := func(list ...uint32) (b []byte) {
		for _, w := range list {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
		return b
	}
	f.Add(words(tagArray, 12, 2, 0, 0, 0, 0), uint32(0))
	f.Add(words(tagObject, 16, 1, 3, 20, 0, 0, 20), uint32(0))
	f.Add(words(tagSet, 16, 1, 3, 20, 0, 20), uint32(0))
	f.Fuzz(func(t *testing.T, mem []byte, addr uint32) {
		d := decoder{limit: 1 << 12}
		if out, err := d.decode(mem, addr, nil); err == nil {
			require.True(t, json.Valid(out), "%q", out)
		}
		r := valueReader{mem: mem, left: 1 << 12}
		_, _ = r.value(addr, 0)
	})
}
