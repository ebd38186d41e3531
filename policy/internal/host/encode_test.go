package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/policy/internal/rewrite"
)

func TestEncodeRefuses(t *testing.T) {
	in := load(t, `{}`, []string{"p/q"}, "package p\nq := input")
	for _, c := range []struct{ text, want string }{
		{"", "byte 0 is the end, not a value"},
		{" ", "byte 1 is the end, not a value"},
		{"\xff", "it is not UTF-8"},
		{"\x00", `byte 0 is '\x00', not a value`},
		{"1\x00", `byte 1 is '\x00', not the end`},
		{"nul", "byte 0 is 'n', not a value"},
		{"nulL", "byte 0 is 'n', not a value"},
		{"truefalse", "byte 4 is 'f', not the end"},
		{"é", "byte 0 is 'é', not a value"},
		{"[1,]", "byte 3 is ']', not a value"},
		{"[1 2]", "byte 3 is '2', not a comma or the array's end"},
		{"[1", "byte 2 is the end, not a comma or the array's end"},
		{"[1}", "byte 2 is '}', not a comma or the array's end"},
		{"[]]", "byte 2 is ']', not the end"},
		{"{1:2}", "byte 1 is '1', not a member's name"},
		{`{"a"}`, "byte 4 is '}', not a colon"},
		{`{"a":}`, "byte 5 is '}', not a value"},
		{`{"a":1,}`, "byte 7 is '}', not a member's name"},
		{`{"a":1 "b":2}`, `byte 7 is '"', not a comma or the object's end`},
		{`{"a":1,"b":{"c":[1],"c":2}}`, `the name "c" stands twice in one object`},
		{`{"\u0061":1,"a":2}`, `the name "a" stands twice in one object`},
		{`"a`, "byte 2 is the end, not a character of a string"},
		{"\"a\nb\"", `byte 2 is '\n', not a character of a string`},
		{`"\x"`, `byte 1 is '\\', not an escape`},
		{`"\`, `byte 1 is '\\', not an escape`},
		{`"\u12"`, `byte 1 is '\\', not an escape`},
		{`"\u+123"`, `byte 1 is '\\', not an escape`},
		{`"\ud800"`, `byte 1 is '\\', not an escape`},
		{`"\ud800\u0041"`, `byte 1 is '\\', not an escape`},
		{`"\udc00\ud800"`, `byte 1 is '\\', not an escape`},
		{"01", "byte 0 is '0', not a value"},
		{"-", "byte 0 is '-', not a value"},
		{"+1", "byte 0 is '+', not a value"},
		{"1.", "byte 0 is '1', not a value"},
		{".5", "byte 0 is '.', not a value"},
		{"1e", "byte 0 is '1', not a value"},
		{"1e+", "byte 0 is '1', not a value"},
		{"0x1", "byte 1 is 'x', not the end"},
		{"Infinity", "byte 0 is 'I', not a value"},
	} {
		_, _, err := in.enc.encode(in.heap, []byte(c.text))
		require.ErrorIs(t, err, ErrInput, "%q", c.text)
		assert.EqualError(t, err, "input is not proper JSON: "+c.want, "%q", c.text)
	}
}

func TestEncodeDepth(t *testing.T) {
	in := load(t, `{}`, []string{"p/q"}, "package p\nq := input")
	nest := func(n int) []byte {
		return []byte(strings.Repeat(`[{"a":`, n/2) + "1" + strings.Repeat("}]", n/2))
	}
	out, _, err := in.Eval(t.Context(), 0, nest(maxDepth), nil)
	require.NoError(t, err)
	assert.Equal(t, string(nest(maxDepth)), string(out))
	for _, n := range []int{maxDepth + 2, 100_000, 1_000_000} {
		_, _, err = in.enc.encode(in.heap, nest(n))
		require.ErrorIs(t, err, ErrStack)
		assert.EqualError(t, err, "evaluation nested too deeply: the input is nested deeper than 1000")
	}
}

// TestEncodeCollisions: names that were chosen to share a bucket would cost the square of their number, here and in
// the module.
func TestEncodeCollisions(t *testing.T) {
	in := load(t, `{}`, []string{"p/q"}, "package p\nq := count(input)")
	var collide, apart []string
	for i := 0; len(collide) < 1000; i++ {
		name := fmt.Sprintf("name%d", i)
		if len(apart) < 50_000 {
			apart = append(apart, fmt.Sprintf("%q:0", name))
		}
		if rewrite.StringHash([]byte(name))%2048 == 7 {
			collide = append(collide, fmt.Sprintf("%q:0", name))
		}
	}
	_, _, err := in.enc.encode(in.heap, []byte("{"+strings.Join(collide, ",")+"}"))
	require.ErrorIs(t, err, ErrInput)
	assert.ErrorContains(t, err, "more than 128 names in one object have colliding hashes, such as \"name")
	out, _, err := in.Eval(t.Context(), 0, []byte("{"+strings.Join(apart, ",")+"}"), nil)
	require.NoError(t, err)
	assert.Equal(t, "50000", string(out))
}

// TestNumbers: the runtime's arithmetic sees only the low 32 bits of what is stored as an integer, so larger ones must
// be stored as text.
func TestNumbers(t *testing.T) {
	in := load(t, `{"n": 8589934592}`, []string{"p/q"}, `package p
q := {"next": input.n + 1, "half": input.n / 2, "more": input.n > 1, "sum": sum([input.n, 1]), "rest": input.n % 1000,
	"text": $"{input.n}", "same": data.n == input.m, "looked_up": {data.n: "yes"}[input.m], "zero": input.zero == 0}`)
	for _, c := range []struct{ n, want string }{
		{"8589934592", `"half":4294967296,"looked_up":"yes","more":true,"next":8589934593,"rest":592,"same":true,` +
			`"sum":8589934593,"text":"8589934592","zero":true`},
		{"2147483647", `"half":1073741823.5,"looked_up":"yes","more":true,"next":2147483648,"rest":647,"same":true,` +
			`"sum":2147483648,"text":"2147483647","zero":true`},
		{"2147483648", `"half":1073741824,"looked_up":"yes","more":true,"next":2147483649,"rest":648,"same":true,` +
			`"sum":2147483649,"text":"2147483648","zero":true`},
		{"-2147483649", `"half":-1073741824.5,"looked_up":"yes","more":false,"next":-2147483648,"rest":-649,"same":true,` +
			`"sum":-2147483648,"text":"-2147483649","zero":true`},
	} {
		out, _, err := in.Eval(t.Context(), 0, []byte(`{"n":`+c.n+`,"m":8589934592,"zero":-0}`), nil)
		require.NoError(t, err)
		assert.Equal(t, "{"+c.want+"}", string(out))
	}
}

// TestLargeInputs: what the host adds to the memory the module's allocator must know of, or it adds as much again.
func TestLargeInputs(t *testing.T) {
	limits := roomy
	limits.MaxPages = 256
	m := loadModule(t, limits, `{}`, []string{"p/q"}, "package p\nq := count([x | some x in input; x.a == 1])")
	in, err := m.Instantiate(t.Context())
	require.NoError(t, err)
	row := `{"a":1,"b":"text","c":[1,2,3]},`
	text := []byte("[" + strings.Repeat(row, 30_000) + `{"a":2}]`)
	_, end, err := in.enc.encode(in.heap, text)
	require.NoError(t, err)
	out, _, err := in.Eval(t.Context(), 0, text, nil)
	require.NoError(t, err)
	assert.Equal(t, "30000", string(out))
	size := in.mem.Size()
	assert.Less(t, size, end+8<<20, "the values and the 5 MB that the rule allocates")
	for range 3 {
		_, _, err = in.Eval(t.Context(), 0, text, nil)
		require.NoError(t, err)
	}
	assert.Equal(t, size, in.mem.Size())

	_, _, err = in.Eval(t.Context(), 0, []byte("["+strings.Repeat(row, 150_000)+"1]"), nil)
	require.ErrorIs(t, err, ErrMemory)
	want := `^evaluation needs more memory than its maximum: the input alone needs \d+ of 256 pages of 64 KiB$`
	assert.Regexp(t, want, err.Error())
}

// FuzzEncode: the encoder takes exactly what strict JSON is, and the module's own parser makes the same value of it.
func FuzzEncode(f *testing.F) {
	for _, text := range []string{
		sample, `{}`, `[]`, `"\u0000\ud83d\ude00"`, `{"a":{"b":[1,2.50,-0,1e5,123456789012345678901]},"":null}`,
		`{"a":1,"a":2}`, "[true , false\n,null ]", `"\ud800"`, "1E400", `[[[[{"x":[{}]}]]]]`,
		`{"name0":0,"name1":1,"name2":2,"name3":3,"name4":4,"name5":5}`,
	} {
		f.Add([]byte(text))
	}
	in := load(f, `{}`, []string{"p/q"}, "package p\nq := input")
	f.Fuzz(func(t *testing.T, text []byte) {
		in.begin(t.Context())
		ours, end, err := in.enc.encode(in.heap, text)
		if err != nil {
			if jsontext.Value(text).IsValid() {
				require.NotErrorIs(t, err, ErrInput)
			}
			return
		}
		require.True(t, jsontext.Value(text).IsValid(), "encoded what is not strict JSON")
		_, err = in.call(in.setHeap, uint64(end))
		require.NoError(t, err)
		theirs, err := in.parsed(text)
		require.NoError(t, err)
		var printed, decoded [2]string
		for i, addr := range []uint32{ours, theirs} {
			printed[i], err = in.printed(addr)
			require.NoError(t, err)
			out, err := in.dec.decode(in.memory(), addr, nil)
			require.NoError(t, err)
			decoded[i] = string(out)
		}
		require.Equal(t, printed[1], printed[0])
		require.Equal(t, decoded[1], decoded[0])
	})
}
