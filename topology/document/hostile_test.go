package document_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/topology/document"
)

// Hostile documents must end in an error that says why, in the time and memory that their size deserves. The limits
// leave room for a slow machine and the race detector; what they catch is exponential or quadratic.
func TestHostileDocuments(t *testing.T) {
	const deep = 1_000_000
	const transfer = `{"engine":{"kv_transfer":`
	zeros := strings.Repeat("/0", 63)
	for _, test := range []struct {
		refusal
		mediaType string
	}{
		{refusal{
			"100 MB of JSON", strings.Repeat(" ", 100<<20), document.CodeTooLarge, "",
			"the document has 104857600 bytes, at most 16777216 are read",
		}, ""},
		{refusal{
			"100 MB of YAML", strings.Repeat(" ", 100<<20), document.CodeTooLarge, "",
			"the document has 104857600 bytes, at most 1048576 are read as YAML; send JSON",
		}, "text/yaml"},
		{refusal{
			"a million open lists", strings.Repeat("[", deep), document.CodeInvalidType, "", "got a list; want an object",
		}, ""},
		{refusal{
			"a million open lists in a transfer configuration", transfer + strings.Repeat("[", deep), document.CodeTooDeep, "",
			"/engine/kv_transfer" + zeros[:128-len("/engine/kv_transfer")] +
				"...: objects and lists are nested more than 100 levels deep; flatten them",
		}, ""},
		{refusal{
			"a few lists too many", transfer + strings.Repeat("[", 99) + strings.Repeat("]", 99) + "}}", document.CodeTooDeep, "",
			"/engine/kv_transfer: objects and lists are nested more than 100 levels deep; flatten them",
		}, ""},
		{refusal{
			"a few lists too many in a worker's configuration", `{"engine":{"nnodes":1},"workers":[{"node":"a","config":{"kv_transfer":` +
				strings.Repeat("[", 97) + strings.Repeat("]", 97) + "}}]}", document.CodeTooDeep, "",
			"/workers/0/config/kv_transfer: objects and lists are nested more than 100 levels deep; flatten them",
		}, ""},
		{refusal{
			"a million open lists of YAML", strings.Repeat("[", deep), document.CodeTooDeep, "",
			"line 1: not valid YAML: exceeded max depth of 10000",
		}, "text/yaml"},
		{refusal{
			"a few lists too many of YAML", strings.Repeat("[", 101) + strings.Repeat("]", 101), document.CodeTooDeep, "",
			"line 1: " + strings.Repeat("/0", 64) + "...: objects and lists are nested more than 100 levels deep; flatten them",
		}, "text/yaml"},
		{refusal{
			"merge keys a few levels too deep", strings.Repeat("{<<: ", 101) + strings.Repeat("}", 101), document.CodeTooDeep, "",
			"line 1: " + strings.Repeat("/<<", 42) + "/<...: objects and lists are nested more than 100 levels deep; flatten them",
		}, "text/yaml"},
		{refusal{
			"aliases that stand for 9^20 values", bomb("[%s]", "*a%d"), document.CodeTooLarge, "",
			"line 2: /a5/6/6/8/4/2: aliases stand for more than 1048576 bytes; use fewer of them",
		}, "text/yaml"},
		{refusal{
			"aliases of one long key", "[&a {" + strings.Repeat("k", 1000) + ": 1}" + strings.Repeat(",*a", 10_000) + "]",
			document.CodeTooLarge, "", "line 1: /1024: aliases stand for more than 1048576 bytes; use fewer of them",
		}, "text/yaml"},
		{refusal{
			"merge keys that stand for 9^20 mappings", bomb("{<<: [%s]}", "*a%d"), document.CodeTooLarge, "",
			"line 2: /a6" + strings.Repeat("/<<", 11) + ": aliases stand for more than 1048576 bytes; use fewer of them",
		}, "text/yaml"},
		{refusal{
			"merge keys of one long list", "[&a {k: [" + strings.Repeat("1,", 1000) + "]}" + strings.Repeat(",{<<: *a}", 10_000) + "]",
			document.CodeTooLarge, "", "line 1: /117/k/183: aliases stand for more than 1048576 bytes; use fewer of them",
		}, "text/yaml"},
		{refusal{
			"a list that contains itself", "engine: &e\n  command: [*e]\n", document.CodeAliasCycle, "",
			`line 1: /engine/command/0: anchor "e" contains itself; an alias may only name an anchor that is complete`,
		}, "text/yaml"},
		{refusal{
			"a mapping that merges itself", "engine: &e\n  <<: *e\n", document.CodeAliasCycle, "",
			`line 1: /engine/<<: anchor "e" contains itself; an alias may only name an anchor that is complete`,
		}, "text/yaml"},
		{refusal{
			"many tag directives", tagDirectives(), document.CodeUnsupported, "",
			"more than 16 %TAG directives; leave them out",
		}, "text/yaml"},
		{refusal{
			"a number of a million digits", `{"engine":{"nnodes":` + strings.Repeat("9", deep) + "}}", document.CodeOutOfRange, "",
			"/engine/nnodes: got the number " + strings.Repeat("9", 64) +
				"...; want a whole number from -9223372036854775808 to 9223372036854775807",
		}, ""},
		{refusal{
			"a hexadecimal number of a million digits", "engine: {nnodes: !!int 0x" + strings.Repeat("f", deep) + "}",
			document.CodeInvalidType, "", `line 1: /engine/nnodes: "0x` + strings.Repeat("f", 62) +
				`..." is not a number that JSON has; infinities and NaN have no meaning here`,
		}, "text/yaml"},
		{refusal{
			"nulls behind a name of a million letters", transfer + `{"` + strings.Repeat("a", deep) + `":[` +
				strings.Repeat("null,", deep) + `null]},"command":[null]}}`, document.CodeInvalidType, "",
			"/engine/command/0: null in a list; leave the element out",
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := document.Launch([]byte(test.document), test.mediaType)
			elapsed := time.Since(start)
			runtime.ReadMemStats(&after)
			test.check(t, err)
			assert.Less(t, elapsed, 5*time.Second)
			allocated := after.TotalAlloc - before.TotalAlloc - uint64(len(test.document))
			assert.Less(t, allocated>>20, uint64(256), "MiB allocated")
		})
	}
}

// bomb defines a0 and then a1 to a20, each as nine aliases of the one before.
func bomb(value, alias string) string {
	var text strings.Builder
	text.WriteString("a0: &a0 {}\n")
	for i := 1; i <= 20; i++ {
		aliases := strings.Repeat(fmt.Sprintf(alias+",", i-1), 9)
		fmt.Fprintf(&text, "a%d: &a%d "+value+"\n", i, i, aliases)
	}
	return text.String()
}

func tagDirectives() string {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "%%TAG !a%d! x\n", i)
	}
	return text.String() + "---\na: 1\n"
}

// The parser takes well under a second for a document of a quarter of the largest size, whatever it holds. Quadratic
// time would be minutes.
func TestLargeYAMLTakesLinearTime(t *testing.T) {
	fill := func(text string) string { return strings.Repeat(text, document.MaxYAMLBytes/4/len(text)) }
	for name, text := range map[string]string{
		"lists":          "[" + fill("[],") + "]",
		"scalars":        "[" + fill("a,") + "]",
		"members":        fill("- a: b\n"),
		"nested lists":   fill("- - - - a\n"),
		"comments":       fill("#\n") + "a: 1",
		"comments aside": fill("- a # b\n"),
		"anchors":        "[" + fill("&a a,") + "]",
		"aliases":        "[&a b," + fill("*a,") + "]",
		"quoted lines":   `"` + fill("a\n\n") + `"`,
		"tags":           "[" + fill("!!str a,") + "]",
	} {
		start := time.Now()
		_, err := document.FromYAML([]byte(text))
		require.NoError(t, err, name)
		assert.Less(t, time.Since(start), 10*time.Second, name)
	}
}
