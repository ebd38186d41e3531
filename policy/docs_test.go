package policy

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestChecksReference holds docs/checks.md to what the METADATA of the shipped checks says.
func TestChecksReference(t *testing.T) {
	const path = "../docs/checks.md"
	info, err := newEngine(t, Options{}).Info()
	require.NoError(t, err)
	var b strings.Builder
	b.WriteString("# The checks that ship\n\nMade from the METADATA of the rules by a test; edit the rules, not this page.\n" +
		"What enforcement, outcomes and missing facts mean is in [policies.md](policies.md).\n")
	for _, c := range info.Checks {
		assert.Equal(t, "docs/checks.md#"+strings.ReplaceAll(c.ID, ".", ""), c.Docs, "the docs of %s must lead here", c.ID)
		fmt.Fprintf(&b, "\n## %s\n\n%s (enforcement `%s`, rule [%s](../%s)).\n\n%s\n", c.ID, c.Title, c.Enforcement, c.File, c.File,
			c.Description)
		fmt.Fprintf(&b, "\nNeeds `%s`; without them the check is `%s`.\n", strings.Join(c.Needs, "`, `"), c.Missing)
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String(), "run the test with -update")
}
