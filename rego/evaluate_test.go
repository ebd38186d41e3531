package rego_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/stretchr/testify/require"
)

// decider evaluates a query over facts.
type decider func(t require.TestingT, facts any) rego.Vars

// prepare compiles the shipped rules for a query.
func prepare(t *testing.T, query string, modules ...string) decider {
	t.Helper()
	options := []func(*rego.Rego){rego.Query(query), rego.StrictBuiltinErrors(true)}
	for file, text := range sources(t) {
		options = append(options, rego.Module(file, string(text)))
	}
	for i, text := range modules {
		options = append(options, rego.Module(fmt.Sprintf("%d.rego", i), text))
	}
	prepared, err := rego.New(options...).PrepareForEval(context.Background())
	require.NoError(t, err)
	return func(t require.TestingT, facts any) rego.Vars {
		text, err := json.Marshal(facts)
		require.NoError(t, err)
		input, err := ast.ValueFromReader(bytes.NewReader(text))
		require.NoError(t, err)
		results, err := prepared.Eval(context.Background(), rego.EvalParsedInput(input))
		require.NoError(t, err, "%s", text)
		require.Len(t, results, 1, "%s", text)
		return results[0].Bindings
	}
}
