//go:build linux

package soak

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"go.yaml.in/yaml/v3"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/bench"
)

// vary is the part of every body in whose place each request has a number of its own, so that no verdict is remembered.
const vary = "00000000"

// Case is a request with the one right answer.
type Case struct {
	Name, Path string
	Body       []byte
	// YAML tells that the body is not JSON.
	YAML bool
	// Share is how many of the requests it makes up, in relation to the others' shares.
	Share int
	// Status is that of the answer unless the service is too busy; Outcome and Fails are those of a verdict.
	Status  int
	Outcome string
	Fails   []string
	// read takes the outcome and the failing checks out of an answer; nil if there are none.
	read func([]byte) (outcome string, fails []string, err error)
}

// Corpus is the load: launches of all outcomes and several sizes, and documents that are none.
func Corpus() []Case {
	named := func(text []byte) []byte {
		return bytes.Replace(text, []byte(`"id":"engine-a"`), []byte(`"id":"engine-`+vary+`"`), 1)
	}
	small, good, bad := named(bench.Document(8, bench.OK)), named(bench.Document(64, bench.OK)), named(bench.Document(64, bench.Bad))
	open := bench.Launch(64, bench.OK)
	open.Workers, open.Engine.Executor, open.Engine.Nnodes = nil, "ray", nil
	unknown, err := json.Marshal(open)
	if err != nil {
		panic(err) // The launch is made of plain values; it cannot fail to encode.
	}
	local := []string{"tiering.node_local"}
	validate := func(name string, share int, body []byte, outcome string, fails ...string) Case {
		return Case{
			Name: name, Path: "/v1/validate", Body: body, Share: share, Status: http.StatusOK,
			Outcome: outcome, Fails: fails, read: verdict,
		}
	}
	inYAML := validate("in YAML", 5, yamlOf(small), v1.Allow)
	inYAML.YAML = true
	refused := func(name string, body string, status int) Case {
		return Case{Name: name, Path: "/v1/validate", Body: []byte(body), Share: 2, Status: status}
	}
	return []Case{
		validate("small", 15, small, v1.Allow),
		validate("good", 20, good, v1.Allow),
		validate("denied", 20, bad, v1.Deny, local...),
		validate("unknown", 10, named(unknown), v1.Unknown),
		validate("large", 15, named(bench.Document(512, bench.OK)), v1.Allow),
		validate("large and denied", 15, named(bench.Document(512, bench.Bad)), v1.Deny, local...),
		{
			Name: "by OPA's convention", Path: "/v1/data/tiergate/verdict", Body: slices.Concat([]byte(`{"input":`), bad, []byte(`}`)),
			Share: 10, Status: http.StatusOK, Outcome: v1.Deny, Fails: local, read: result,
		},
		inYAML,
		refused("misspelt", `{"engine":{"id":"engine-`+vary+`","nnode":1}}`, http.StatusBadRequest),
		refused("cut off", `{"engine":{"id":"engine-`+vary, http.StatusBadRequest),
		refused("no engine", `{"engine":{"id":"engine-`+vary+`","command":["sleep"]}}`, http.StatusUnprocessableEntity),
	}
}

// yamlOf is a JSON document as people would write it.
func yamlOf(text []byte) []byte {
	var document any
	if err := yaml.Unmarshal(text, &document); err != nil { // JSON is YAML, and keeps its whole numbers
		panic(err) // It is a document of ours.
	}
	written, err := yaml.Marshal(document)
	if err != nil {
		panic(err)
	}
	return written
}

func verdict(text []byte) (outcome string, fails []string, err error) {
	var v v1.Verdict
	err = json.Unmarshal(text, &v)
	for _, check := range v.Checks {
		if check.Outcome == v1.Fail && check.Enforcement == v1.EnforceDeny {
			fails = append(fails, check.ID)
		}
	}
	slices.Sort(fails)
	return v.Outcome, fails, err
}

func result(text []byte) (outcome string, fails []string, err error) {
	var r struct{ Result json.RawMessage }
	if err := json.Unmarshal(text, &r); err != nil {
		return "", nil, err
	}
	return verdict(r.Result)
}

// wrong says what is wrong with an answer; empty if nothing is. Whole verdicts are read if thorough.
func (c *Case) wrong(a *answer, thorough bool) string {
	switch {
	case a.status != c.Status:
		return fmt.Sprintf("%s: status %d, want %d: %.300s", c.Name, a.status, c.Status, a.body)
	case a.outcome != c.Outcome:
		return fmt.Sprintf("%s: outcome %q, want %q: %.300s", c.Name, a.outcome, c.Outcome, a.body)
	case !thorough || c.read == nil:
		return ""
	}
	outcome, fails, err := c.read(a.body)
	switch {
	case err != nil:
		return fmt.Sprintf("%s: %v: %.300s", c.Name, err, a.body)
	case outcome != c.Outcome || !slices.Equal(fails, c.Fails):
		return fmt.Sprintf("%s: %s for %v, want %s for %v", c.Name, outcome, fails, c.Outcome, c.Fails)
	}
	return ""
}
