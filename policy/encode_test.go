package policy

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"testing"
	"testing/quick"

	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/topology"
)

// TestAppendFacts compares with encoding/json over random facts, strings of any characters included.
func TestAppendFacts(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 30 {
		value, ok := quick.Value(reflect.TypeFor[topology.Facts](), random)
		require.True(t, ok)
		facts := value.Interface().(topology.Facts)
		if facts.Transfer != nil {
			for i := range facts.Transfer.Connectors {
				facts.Transfer.Connectors[i].Config = json.RawMessage(`{"kv_role":"kv_both"}`)
			}
		}
		want, err := json.Marshal(facts)
		require.NoError(t, err)
		var expected, got any
		require.NoError(t, json.Unmarshal(want, &expected))
		text := appendFacts(nil, &facts)
		require.NoError(t, json.Unmarshal(text, &got), string(text))
		// A nil list that is always there is null in encoding/json and an empty list here, which rules can iterate.
		require.Equal(t, emptyLists(expected), got)
	}
}

func emptyLists(v any) any {
	switch v := v.(type) {
	case nil:
		return []any{}
	case map[string]any:
		for k := range v {
			v[k] = emptyLists(v[k])
		}
	case []any:
		for i := range v {
			v[i] = emptyLists(v[i])
		}
	}
	return v
}

func TestSplitVerdictRefusesOtherShapes(t *testing.T) {
	const sound = `{"assumed":[],"checks":[{"id":"a.b","outcome":"pass"}],"disabled":[],"outcome":"allow","probe":false}`
	core, err := splitVerdict([]byte(sound))
	require.NoError(t, err)
	require.Equal(t, `[{"id":"a.b","outcome":"pass"}]`, string(core.checks))
	for i := range sound {
		_, err := splitVerdict([]byte(sound[:i]))
		require.ErrorIs(t, err, ErrUndefined, sound[:i])
	}
	for _, text := range []string{
		`[]`, `{"assumed":[],"checks":[],"disabled":[],"outcome":"maybe","probe":false}`,
		`{"assumed":[],"checks":[],"disabled":[],"outcome":"allow","probe":1}`, `{"outcome":"allow","probe":true}`,
	} {
		_, err := splitVerdict([]byte(text))
		require.ErrorIs(t, err, ErrUndefined, text)
	}
}
