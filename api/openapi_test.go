package api

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/config"
)

// description is openapi.yaml as far as the tests look into it.
type description struct {
	Paths      map[string]map[string]operation
	Components struct {
		Schemas   map[string]any
		Responses map[string]answer
	}
}

type operation struct {
	RequestBody struct{ Content map[string]media } `yaml:"requestBody"`
	Responses   map[string]answer
}

type answer struct {
	Ref     string `yaml:"$ref"`
	Content map[string]media
}

type media struct {
	Schema   map[string]any
	Examples map[string]struct{ Value any }
}

func describe(t testing.TB) *description {
	t.Helper()
	d := new(description)
	require.NoError(t, yaml.Unmarshal(Description, d))
	return d
}

// answer is what an operation says about a status, with references followed.
func (d *description) answer(t testing.TB, method, path string, status int) answer {
	t.Helper()
	found, known := d.Paths[path][strings.ToLower(method)].Responses[strconv.Itoa(status)]
	require.True(t, known, "%s %s has no answer %d", method, path, status)
	if name, ok := strings.CutPrefix(found.Ref, "#/components/responses/"); ok {
		return d.Components.Responses[name]
	}
	return found
}

// check validates a document, which is any JSON value, against a schema of the description. OPA has a validator.
func (d *description) check(t testing.TB, schema map[string]any, document any) {
	t.Helper()
	whole := map[string]any{"components": map[string]any{"schemas": d.Components.Schemas}, "allOf": []any{schema}}
	result, err := rego.New(rego.Query("json.match_schema(input.document, input.schema)"),
		rego.Input(map[string]any{"document": document, "schema": whole})).Eval(t.Context())
	require.NoError(t, err)
	require.Len(t, result, 1)
	matched := result[0].Expressions[0].Value.([]any)
	assert.Equal(t, true, matched[0], "%v", matched[1])
}

func TestDescriptionHasExactlyTheRoutes(t *testing.T) {
	var described, served []string
	for path, operations := range describe(t).Paths {
		for method := range operations {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	for _, rt := range routes() {
		served = append(served, rt.method+" "+rt.template())
	}
	assert.ElementsMatch(t, served, described)
}

func TestDescriptionHasExactlyTheCodes(t *testing.T) {
	problem := describe(t).Components.Schemas["Problem"].(map[string]any)
	code := problem["properties"].(map[string]any)["code"].(map[string]any)
	codes := slices.DeleteFunc(slices.Collect(maps.Keys(catalogue)), func(c string) bool { return c == codeClientGone })
	var described []string
	for _, c := range code["enum"].([]any) {
		described = append(described, c.(string))
	}
	assert.ElementsMatch(t, codes, described)
}

// A schema has exactly the members of its wire type.
func TestSchemasHaveTheMembersOfTheirTypes(t *testing.T) {
	d := describe(t)
	var check func(goType reflect.Type)
	seen := map[reflect.Type]bool{}
	check = func(goType reflect.Type) {
		for goType.Kind() == reflect.Pointer || goType.Kind() == reflect.Slice || goType.Kind() == reflect.Map {
			goType = goType.Elem()
		}
		if goType.PkgPath() != reflect.TypeFor[v1.Report]().PkgPath() || seen[goType] {
			return
		}
		seen[goType] = true
		schema, known := d.Components.Schemas[goType.Name()].(map[string]any)
		require.True(t, known, goType.Name())
		var members []string
		for _, field := range reflect.VisibleFields(goType) {
			if field.Anonymous {
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			members = append(members, name)
			check(field.Type)
		}
		described := slices.Collect(maps.Keys(schema["properties"].(map[string]any)))
		described = slices.DeleteFunc(described, func(name string) bool { return goType.Name() == "Verdict" && name == "explanation" })
		assert.ElementsMatch(t, members, described, goType.Name())
	}
	for _, goType := range []reflect.Type{
		reflect.TypeFor[v1.Launch](), reflect.TypeFor[v1.Report](), reflect.TypeFor[v1.Probe](), reflect.TypeFor[v1.CoreReport](),
		reflect.TypeFor[v1.Progress](), reflect.TypeFor[v1.CoreAdmission](), reflect.TypeFor[v1.Revocation](),
		reflect.TypeFor[v1.Engines](), reflect.TypeFor[v1.EngineView](), reflect.TypeFor[v1.Problem](), reflect.TypeFor[v1.PolicyStatus](),
	} {
		check(goType)
	}
}

// The validator must be able to fail, or the tests that use it say nothing.
func TestTheValidatorFindsMistakes(t *testing.T) {
	d := describe(t)
	for _, schema := range []string{
		"Launch", "Verdict", "Problem", "Policies", "Health", "DataRequest", "DataResponse", "Report", "Probe", "CoreReport",
		"Progress", "CoreAdmission", "AttemptEnd", "Revocation", "Engines", "EngineView", "AttemptView",
		"AdmissionReviewRequest", "AdmissionReviewResponse",
	} {
		fails := &recorder{TB: t}
		d.check(fails, map[string]any{"$ref": "#/components/schemas/" + schema}, map[string]any{"surprise": 1})
		assert.True(t, fails.failed, schema)
	}
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Errorf(string, ...any) { r.failed = true }

func TestExamplesMatchTheirSchemas(t *testing.T) {
	d := describe(t)
	examples := 0
	try := func(content map[string]media) {
		for _, m := range content {
			for name, example := range m.Examples {
				t.Log(name)
				d.check(t, m.Schema, example.Value)
				examples++
			}
		}
	}
	for _, operations := range d.Paths {
		for _, op := range operations {
			try(op.RequestBody.Content)
			for _, a := range op.Responses {
				try(a.Content)
			}
		}
	}
	for _, a := range d.Components.Responses {
		try(a.Content)
	}
	assert.Equal(t, 23, examples)
}

// Every example of a request is answered as the description says, by the real handlers.
func TestAnswersMatchTheDescription(t *testing.T) {
	d := describe(t)
	r := start(t, options(shipped(), func(c *config.Serve) { c.MaxBody = 64 << 10 }))
	try := func(method, path, contentType, body string, status int) string {
		t.Helper()
		described := strings.Replace(strings.SplitN(path, "?", 2)[0], "tiergate/verdict", "{path}", 1)
		response, text := ask(t, method, r.url+path, contentType, body)
		require.Equal(t, status, response.StatusCode, text)
		mediaType, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
		schema, known := d.answer(t, method, described, status).Content[mediaType]
		require.True(t, known, "%s %s answers with %q", method, path, mediaType)
		if mediaType == "text/plain" {
			return text
		}
		var document any
		require.NoError(t, yaml.Unmarshal([]byte(text), &document), "JSON is YAML")
		d.check(t, schema.Schema, document)
		return text
	}
	for path, suffixes := range map[string][]string{
		"/v1/validate":    {"", "?pretty", "?explain=notes", "?explain=full"},
		"/v1/data/{path}": {"", "?pretty=true"},
	} {
		for name, example := range d.Paths[path]["post"].RequestBody.Content["application/json"].Examples {
			body, err := json.Marshal(example.Value)
			require.NoError(t, err)
			for _, suffix := range suffixes {
				full := strings.Replace(path, "{path}", "tiergate/verdict", 1) + suffix
				text := try(http.MethodPost, full, "application/json", string(body), http.StatusOK)
				if name == "denied" {
					assert.Contains(t, strings.ReplaceAll(text, `": "`, `":"`), `"outcome":"deny"`)
				}
			}
		}
		full := strings.Replace(path, "{path}", "tiergate/verdict", 1)
		try(http.MethodPost, full, "", `{"input": {"engine": {"nnode": 1}}}`, http.StatusBadRequest)
		try(http.MethodPost, full, "text/html", `{}`, http.StatusUnsupportedMediaType)
		try(http.MethodPost, full, "", strings.Repeat(" ", 65<<10), http.StatusRequestEntityTooLarge)
	}
	try(http.MethodPost, "/v1/validate", "", `{"engine": {"command": ["sleep"]}}`, http.StatusUnprocessableEntity)
	try(http.MethodGet, "/v1/policies", "", "", http.StatusOK)
	try(http.MethodPut, "/v1/policies", "", "", http.StatusNotFound)
	try(http.MethodPost, "/v1/policies/preview", "", "", http.StatusNotFound)
	try(http.MethodGet, "/v1/decisions", "", "", http.StatusNotFound)
	for _, path := range []string{"/health", "/health/live", "/health/ready", "/metrics", "/openapi.yaml"} {
		try(http.MethodGet, path, "", "", http.StatusOK)
	}
	assert.Equal(t, string(Description), try(http.MethodGet, "/openapi.yaml", "", "", http.StatusOK))
}
