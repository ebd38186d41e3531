package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// query is the parameters of a request. Others are ignored, as clients of OPA send some that have no meaning here.
type query struct {
	pretty  bool
	watch   bool
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
	if q.pretty, err = given(values, "pretty"); err != nil {
		return q, err
	}
	q.watch, err = given(values, "watch")
	return q, err
}

// given tells whether a switch is on.
func given(values url.Values, name string) (bool, error) {
	value, err := choice(values, name, "true", "false", "")
	return values.Has(name) && value != "false", err
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
