package host

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
)

// canonicalJSON prints a value as the decoder should, from how the decoder is documented: names sorted, sets as arrays
// with the integers first and the other members by their text.
func canonicalJSON(v ast.Value) string {
	switch v := v.(type) {
	case ast.String:
		return quoted(string(v))
	case *ast.Array:
		var list []string
		v.Foreach(func(t *ast.Term) { list = append(list, canonicalJSON(t.Value)) })
		return "[" + strings.Join(list, ",") + "]"
	case ast.Object:
		members := map[string]string{}
		var names []string
		v.Foreach(func(key, value *ast.Term) {
			name, ok := key.Value.(ast.String)
			if !ok {
				name = ast.String(canonicalJSON(key.Value))
			}
			names = append(names, string(name))
			members[string(name)] = quoted(string(name)) + ":" + canonicalJSON(value.Value)
		})
		slices.Sort(names)
		var list []string
		for _, name := range names {
			list = append(list, members[name])
		}
		return "{" + strings.Join(list, ",") + "}"
	case ast.Set:
		var list []string
		v.Foreach(func(t *ast.Term) { list = append(list, canonicalJSON(t.Value)) })
		slices.SortFunc(list, compareTexts)
		return "[" + strings.Join(list, ",") + "]"
	default:
		return v.String()
	}
}

func compareTexts(a, b string) int {
	m, errA := strconv.ParseInt(a, 10, 64)
	n, errB := strconv.ParseInt(b, 10, 64)
	switch {
	case errA == nil && errB == nil:
		return cmp.Compare(m, n)
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return strings.Compare(a, b)
}

// quoted writes a JSON string with the escapes that the decoder uses.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029", `\b`, `\u0008`, `\f`, `\u000c`).Replace(
		strings.TrimSuffix(b.String(), "\n"))
}

func newBuiltinContext() topdown.BuiltinContext {
	return topdown.BuiltinContext{
		Metrics: metrics.New(),
		Seed:    rand.Reader,
		Time:    ast.NumberTerm(json.Number(strconv.FormatInt(time.Now().UnixNano(), 10))),
		Cancel:  topdown.NewCancel(),
		Cache:   builtins.Cache{},
	}
}
