package api

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// endless is a body of so many spaces, of a length that the server is not told.
func endless(n int64) io.Reader { return io.LimitReader(spaces{}, n) }

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// variables is a launch with as many variables as fit into so many bytes.
func variables(size int) string {
	var b strings.Builder
	b.WriteString(`{"engine":{"command":["sleep"],"env":{"x":""`)
	for i := 0; b.Len() < size-40; i++ {
		fmt.Fprintf(&b, `,"%d":""`, i)
	}
	return b.String() + "}}}"
}

// yamlBomb has anchors that stand for nine of the one before.
func yamlBomb() string {
	var b strings.Builder
	b.WriteString("engine:\n  a0: &a0 [x]\n")
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&b, "  a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9))
	}
	return b.String()
}

// TestHostileBodies sends what should hurt. Each must end in the error that says what it is, each next good request
// must be answered rightly, and in the end no memory may be held.
func TestHostileBodies(t *testing.T) {
	r := start(t, options(shipped(), nil))
	launch := tiered("engine-a", "gpu-a", "gpu-b")
	deep := strings.Repeat("[", 1_000_000)
	engine := func(members string) string { return `{"engine":{` + members + `}}` }
	list := func(name string, n int) string {
		return `{"engine":{"nnodes":1},"` + name + `":[{}` + strings.Repeat(",{}", n-1) + "]}"
	}
	for _, test := range []struct {
		name, contentType, body string
		status                  int
		code                    string
	}{
		{"truncated", "", launch[:len(launch)-1], 400, "invalid_syntax"},
		{"100 MB", "", strings.Repeat(" ", 100<<20), 413, "too_large"},
		{"8 MiB of spaces", "", strings.Repeat(" ", 8<<20), 400, "empty"},
		{"8 MiB of workers", "", list("workers", 2_700_000), 413, "too_large"},
		{"8 MiB of nodes", "", list("nodes", 2_700_000), 413, "too_large"},
		{"all the nodes that are read", "", list("nodes", maxObjects-2), 400, "missing_field"},
		{"8 MiB of variables", "", variables(8 << 20), 422, "no_engine"},
		{"a million levels", "", `{"engine":{"kv_transfer":` + deep, 400, "too_deep"},
		{"a million levels of YAML", "text/yaml", deep, 400, "too_deep"},
		{"bad UTF-8", "", engine("\"id\":\"\xff\""), 400, "invalid_utf8"},
		{"bad UTF-8 in YAML", "text/yaml", "engine: \xff", 400, "invalid_utf8"},
		{"duplicate keys", "", engine(`"nnodes":1,"nnodes":2`), 400, "duplicate_key"},
		{"a huge number", "", engine(`"nnodes":` + strings.Repeat("9", 1_000_000)), 400, "out_of_range"},
		{"a huge grid", "", engine(`"parallel":{"tensor":2147483648,"pipeline":2147483648}`), 422, "too_many_ranks"},
		{"a YAML bomb", "text/yaml", yamlBomb(), 413, "too_large"},
		{"2 MiB of YAML", "text/yaml", strings.Repeat("- a\n", 1<<19), 413, "too_large"},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, text := ask(t, http.MethodPost, r.url+"/v1/validate", test.contentType, test.body)
			assert.Equal(t, test.status, response.StatusCode, text)
			assert.Contains(t, text, `"code":"`+test.code+`"`)
			assert.Less(t, len(text), 2000, "errors must not repeat what they were sent")

			response, text = ask(t, http.MethodPost, r.url+"/v1/validate", "", launch)
			require.Equal(t, http.StatusOK, response.StatusCode)
			assert.Equal(t, "deny", verdictOf(t, text).Outcome)
		})
	}
	response, text := do(t, post(t, r, endless(100<<20)))
	assert.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode, text)

	places, bytes := r.queue.load()
	assert.Zero(t, places)
	assert.Zero(t, bytes)
	runtime.GC()
	runtime.GC() // The first moves what pools keep to where the second frees it.
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	assert.Less(t, after.HeapAlloc, uint64(64<<20))
}
