package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/config"
)

// shown is the part of an answer that a golden file holds.
func shown(response *http.Response, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", response.Status)
	for _, name := range []string{"Content-Type", "Allow", "Retry-After", "Tiergate-Outcome"} {
		if value := response.Header.Get(name); value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	if response.Close {
		b.WriteString("Connection: close\n")
	}
	return b.String() + "\n" + body + "\n"
}

// TestProblems holds the exact answer to every kind of request that gets no verdict.
func TestProblems(t *testing.T) {
	r := start(t, options(hostile(), func(c *config.Serve) { c.MaxBody = 64 << 10 }))
	d := describe(t)
	const get, post, yaml = http.MethodGet, http.MethodPost, "application/yaml"
	const validate, verdict = "/v1/validate", "/v1/data/tiergate/verdict"
	engine := func(members string) string { return `{"engine": {` + members + `}}` }
	nodes := func(list string) string { return `{"engine": {"nnodes": 1}, "nodes": [` + list + `]}` }
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, test := range []struct{ name, method, path, contentType, body string }{
		{"not_found", get, "/v1/verdicts", "", ""},
		{"method_not_allowed", get, validate, "", ""},
		{"method_not_allowed_of_two", http.MethodDelete, "/v1/policies", "", ""},
		{"not_enabled_put", http.MethodPut, "/v1/policies", "", "{}"},
		{"not_enabled_preview", post, "/v1/policies/preview", "", "{}"},
		{"not_enabled_decisions", get, "/v1/decisions", "", ""},
		{"unknown_entrypoint", post, "/v1/data/tiergate/verdicts", "", `{"input": ` + engine(`"nnodes": 1`) + `}`},
		{"invalid_explain", post, "/v1/validate?explain=debug", "", "{}"},
		{"invalid_pretty", post, verdict + "?pretty=1", "", "{}"},
		{"invalid_pretty_policies", get, "/v1/policies?pretty=yes", "", ""},

		{"empty", post, validate, "", ""},
		{"too_large", post, validate, "", strings.Repeat(" ", 64<<10+1)},
		{"too_deep", post, validate, "", engine(`"kv_transfer": ` + deep)},
		{"unsupported_media_type", post, validate, "application/x-www-form-urlencoded", "{}"},
		{"invalid_utf8", post, validate, "", engine("\"id\": \"\xff\"")},
		{"invalid_syntax", post, validate, "", `{"engine": `},
		{"invalid_type", post, validate, "", engine(`"nnodes": "2"`)},
		{"out_of_range", post, validate, "", engine(`"nnodes": 1` + strings.Repeat("0", 20))},
		{"unknown_field", post, validate, "", engine(`"nnode": 2`)},
		{"unknown_field_yaml", post, validate, yaml, "engine:\n  nnodes: 1\n  kvTransfer: {}\n"},
		{"unknown_field_data", post, verdict, "", `{"input": {"engine": {"nnode": 2}}}`},
		{"unknown_member_data", post, verdict, "", `{"input": {}, "unknowns": []}`},
		{"duplicate_key", post, validate, "", engine(`"id": "a", "id": "b"`)},
		{"missing_field", post, validate, "", `{"nodes": []}`},
		{"missing_input", post, verdict, "", `{}`},
		{"missing_field_data", post, verdict, yaml, "input:\n  engine: {nnodes: 1}\n  nodes: [{}]\n"},
		{"several_documents", post, validate, yaml, "engine: {nnodes: 1}\n---\nengine: {nnodes: 2}\n"},
		{"alias_cycle", post, validate, yaml, "engine: &e\n  command: [*e]\n"},
		{"unsupported", post, validate, yaml, strings.Repeat("%TAG !a! tag:\n", 17) + "---\n"},

		{"too_many_ranks", post, validate, "", engine(`"parallel": {"tensor": 2147483648, "pipeline": 2147483648}`)},
		{"missing_field_core", post, validate, "", `{"engine": {"nnodes": 1}, "core": {}}`},
		{"duplicate_node", post, validate, "", nodes(`{"id": "a"}, {"id": "a"}`)},
		{"duplicate_node_data", post, verdict, "", `{"input": ` + nodes(`{"id": "a"}, {"id": "a"}`) + `}`},
		{"unknown_node", post, validate, "", nodes(`{"id": "gpu-a"}], "workers": [{"node": "gpu-b"}`)},
		{
			"unknown_node_yaml", post, verdict, yaml,
			"input:\n  engine: {nnodes: 1}\n  nodes: [{id: a}]\n  core: {node: b}\n",
		},
		{"negative_bytes", post, validate, "", nodes(`{"id": "a", "shm": {"free_bytes": -1}}`)},
		{"no_engine", post, validate, "", engine(`"command": ["sleep", "1"]`)},
		{
			"contradiction", post, validate, "",
			engine(`"command": ["vllm", "serve", "m", "-tp", "2"], "parallel": {"tensor": 4}`),
		},
		{"unreadable_script", post, validate, "", engine(`"command": ["sh", "-c", "vllm serve \"m"]`)},

		{"evaluation_builtin", post, validate, "", tiered("builtin", "gpu-a", "gpu-a")},
		{"evaluation_conflict", post, validate, "", tiered("conflict", "gpu-a", "gpu-a")},
		{"evaluation_memory", post, validate, "", tiered("memory", "gpu-a", "gpu-a")},
		{"undefined", post, validate, "", tiered("undefined", "gpu-a", "gpu-a")},
		{
			"undefined_data", post, "/v1/data/acme/report/sometimes", "",
			`{"input": ` + tiered("quiet", "gpu-a", "gpu-a") + `}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, body := ask(t, test.method, r.url+test.path, test.contentType, test.body)
			golden(t, "problems/"+test.name+".golden", shown(response, body))
			path, _, _ := strings.Cut(test.path, "?")
			if strings.HasPrefix(path, "/v1/data/") {
				path = "/v1/data/{path}"
			}
			if _, described := d.Paths[path][strings.ToLower(test.method)]; described {
				content := d.answer(t, test.method, path, response.StatusCode).Content
				assert.Contains(t, content, "application/problem+json")
			}

			response, body = ask(t, http.MethodPost, r.url+"/v1/validate", "", tiered("engine-a", "gpu-a", "gpu-b"))
			require.Equal(t, http.StatusOK, response.StatusCode, "the next good request is answered")
			assert.Equal(t, "deny", verdictOf(t, body).Outcome)
		})
	}
}

func TestEvaluationDeadline(t *testing.T) {
	r := start(t, options(hostile(), func(c *config.Serve) { c.DecisionTimeout = 20 * time.Millisecond }))
	response, body := ask(t, http.MethodPost, r.url+"/v1/validate", "", tiered("loop", "gpu-a", "gpu-a"))
	golden(t, "problems/evaluation_deadline.golden", shown(response, body))
}

func TestEvaluationBudget(t *testing.T) {
	engine := newEngine(1_000_000, hostileRules)
	t.Cleanup(func() { assert.NoError(t, engine.Close(context.Background())) })
	r := start(t, options(engine, nil))
	response, body := ask(t, http.MethodPost, r.url+"/v1/validate", "", tiered("loop", "gpu-a", "gpu-a"))
	golden(t, "problems/evaluation_budget.golden", shown(response, body))
}

func TestUnsupportedEncoding(t *testing.T) {
	r := start(t, options(shipped(), nil))
	request := post(t, r, strings.NewReader("{}"))
	request.Header.Set("Content-Encoding", "gzip")
	response, body := do(t, request)
	golden(t, "problems/unsupported_encoding.golden", shown(response, body))
}

// answerOn reads one answer from a raw connection.
func answerOn(t testing.TB, conn net.Conn) (*http.Response, string) {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(body)
}

func TestBodiesThatDoNotArrive(t *testing.T) {
	const length = "POST /v1/validate HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"
	const chunked = "POST /v1/validate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, test := range []struct {
		name, request string
		closes        bool
	}{
		{"body_timeout", length, false},
		{"body_timeout_chunked", chunked + "1\r\n{\r\n", false},
		{"incomplete_body", length, true},
		{"incomplete_body_chunked", chunked + "15\r\nengine: {nnodes: 1}\n\r\n", true},
		{"malformed_chunk", chunked + "zz\r\n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, options(shipped(), func(c *config.Serve) {
				if strings.HasPrefix(test.name, "body_timeout") {
					c.ReadTimeout = time.Second
				}
			}))
			conn := r.raw(t, test.request)
			if test.closes {
				require.NoError(t, conn.(*net.TCPConn).CloseWrite())
			}
			response, body := answerOn(t, conn)
			golden(t, "problems/"+test.name+".golden", shown(response, body))
		})
	}
}
