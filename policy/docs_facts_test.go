package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/rego"
)

// TestFactsReference holds docs/facts-reference.md to the schema that rules are type-checked against.
func TestFactsReference(t *testing.T) {
	const path = "../docs/facts-reference.md"
	text, err := rego.FS.ReadFile(schemaFile)
	require.NoError(t, err)
	var root factSchema
	require.NoError(t, json.Unmarshal(text, &root))
	r := factReference{definitions: root.Definitions}
	r.WriteString(factsHead)
	for _, name := range slices.Sorted(maps.Keys(root.Properties)) {
		fmt.Fprintf(&r, "\n## input.%s\n\n| fact | type | | meaning |\n|---|---|---|---|\n", name)
		r.row("input."+name, root.Properties[name], slices.Contains(root.Required, name))
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(r.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), r.String(), "run the test with -update")
}

const factsHead = `# The facts

What the rules can read of a launch, made from [rego/schemas/input.json](../rego/schemas/input.json) by a test; edit the types of
package topology, not this page. ` + "`[]`" + ` stands for the items of a list: ` + "`some domain in input.domains`" + `. What
is not marked as always there may be missing, and is then undefined in a rule; list what your check needs in
` + "`custom.needs`" + `. ` + "`tiergate explain -o json`" + ` shows the facts of a launch under ` + "`facts`" + `.
`

type factSchema struct {
	Ref         string                `json:"$ref"`
	Type        string                `json:"type"`
	Description string                `json:"description"`
	Items       *factSchema           `json:"items"`
	Properties  map[string]factSchema `json:"properties"`
	Required    []string              `json:"required"`
	Definitions map[string]factSchema `json:"definitions"`
}

type factReference struct {
	strings.Builder
	definitions map[string]factSchema
}

// row writes a fact and what is below it.
func (r *factReference) row(path string, s factSchema, always bool) {
	target, kind := r.resolve(s)
	meaning := s.Description
	if target.Description != "" && !strings.Contains(meaning, target.Description) {
		meaning = strings.TrimSpace(meaning + " " + target.Description)
	}
	there := map[bool]string{true: "always"}[always]
	if slices.Contains(optionalFacts, path) {
		there = "if in `needs`"
	}
	fmt.Fprintf(r, "| `%s` | %s | %s | %s |\n", path, kind, there, strings.ReplaceAll(meaning, "|", `\|`))
	for target.Items != nil {
		path += "[]"
		target, _ = r.resolve(*target.Items)
	}
	for _, name := range slices.Sorted(maps.Keys(target.Properties)) {
		r.row(path+"."+name, target.Properties[name], slices.Contains(target.Required, name))
	}
}

// resolve follows a reference and names the type in Rego's words.
func (r *factReference) resolve(s factSchema) (factSchema, string) {
	if name, found := strings.CutPrefix(s.Ref, "#/definitions/"); found {
		s = r.definitions[name]
	}
	switch s.Type {
	case "array":
		_, item := r.resolve(*s.Items)
		return s, "list of " + strings.TrimPrefix(item, "list of ")
	case "integer":
		return s, "number"
	case "":
		return s, "any"
	}
	return s, s.Type
}
