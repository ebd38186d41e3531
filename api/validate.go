package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
)

// validate answers POST /v1/validate: a launch in, its verdict out, the bytes as the policy wrote them.
func (x *exchange) validate() error {
	q, err := parseQuery(x.r.URL)
	if err != nil {
		return err
	}
	decide := x.server.engine.Decide
	if q.explain != "" {
		decide = x.server.explained(q.explain)
	}
	if x.decision, err = x.judge(bare, decide); err != nil {
		return err
	}
	x.answer(q, x.decision.JSON)
	return nil
}

// data answers POST /v1/data/{path} by the convention of OPA's data API. What OPA answers with an empty 200, an
// undefined document or an unknown path, is a problem here: clients have taken it for an allow.
func (x *exchange) data() error {
	q, err := parseQuery(x.r.URL)
	if err != nil {
		return err
	}
	decide := x.server.engine.Decide
	if x.param != policy.Verdict {
		decide = x.server.queried(x.param)
	}
	d, err := x.judge(enveloped, decide)
	if err != nil {
		return err
	}
	x.decision = d
	out := make([]byte, 0, len(d.JSON)+len(x.id)+32)
	out = append(append(out, `{"result":`...), d.JSON...)
	out = append(append(out, `,"decision_id":"`...), x.id...)
	x.answer(q, append(out, `"}`...))
	return nil
}

// query is the parameters of a request. Others are ignored, as clients of OPA send some that have no meaning here.
type query struct {
	pretty  bool
	explain string
}

// The levels of explain.
const (
	explainNotes = "notes"
	explainFull  = "full"
)

func parseQuery(u *url.URL) (q query, err error) {
	if u.RawQuery == "" {
		return q, nil
	}
	values := u.Query()
	if q.explain, err = choice(values, "explain", "", explainNotes, explainFull); err != nil {
		return q, err
	}
	pretty, err := choice(values, "pretty", "true", "false", "")
	q.pretty = values.Has("pretty") && pretty != "false"
	return q, err
}

// choice returns a parameter that must have one of the allowed values if it is given.
func choice(values url.Values, name string, allowed ...string) (string, error) {
	value := values.Get(name)
	if values.Has(name) && !slices.Contains(allowed, value) {
		named := slices.DeleteFunc(allowed, func(s string) bool { return s == "" })
		return "", &refusal{v1.CodeInvalidParameter, fmt.Sprintf(
			"%s is %.64q; allowed is %s", name, value, strings.Join(named, " or "))}
	}
	return value, nil
}

// answer sends a JSON document.
func (x *exchange) answer(q query, document []byte) {
	if q.pretty {
		var indented bytes.Buffer
		if err := json.Indent(&indented, document, "", "  "); err == nil {
			indented.WriteByte('\n')
			document = indented.Bytes()
		}
	}
	x.send(http.StatusOK, typeJSON, document)
}
