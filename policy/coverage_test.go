package policy

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var covered = map[string]string{
	"lib.rego": `package acme.lib

size(x) := "small" if {
	x < 10
}

size(x) := "large" if {
	x >= 10
	x < 100
}

constant := 1

quarter := {"a": 1} if {
	input.stage == "launch"
	input.engine.id == "x"
}
`,
	"lib_test.rego": `package acme.lib_test

import data.acme.lib

test_small if lib.size(1) == "small"

test_large if lib.size(10) == "large"

test_quarter if not lib.quarter with input.stage as "other"
`,
}

func TestCoverage(t *testing.T) {
	var c Coverage
	_, err := Test(t.Context(), site(covered), TestOptions{Coverage: &c})
	require.NoError(t, err)
	assert.InDelta(t, 62.5, c.Percent, 0.01)
	assert.Equal(t, 5, c.Covered)
	assert.Equal(t, 8, c.Lines)
	require.Len(t, c.Files, 1)
	assert.Equal(t, "site/lib.rego", c.Files[0].File)
	assert.Equal(t, []Gap{{"quarter", 14, 16}}, c.Files[0].NotReached)
}

func TestCoverageIsOfTheTestsThatRun(t *testing.T) {
	var c Coverage
	results, err := Test(t.Context(), site(covered), TestOptions{Coverage: &c, Run: regexp.MustCompile("test_small")})
	require.NoError(t, err)
	assert.Len(t, results, 1)
	assert.Contains(t, c.Files[0].NotReached, Gap{"size", 9, 9})
}
