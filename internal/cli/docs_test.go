package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var quotedFile = regexp.MustCompile("`([a-z_/]+\\.(?:rego|yaml))`")

// TestFirstCheck does what "A first check in ten minutes" in docs/policies.md says, in an empty folder. A block of rego or
// yaml is the file that was named last before it; of the others, lines after a $ are commands, and what follows is what
// they print, with ... for any lines.
func TestFirstCheck(t *testing.T) {
	text, err := os.ReadFile("../../docs/policies.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## A first check in ten minutes\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	t.Chdir(t.TempDir())
	commands, file := 0, ""
	for i, part := range strings.Split(section, "```") {
		if i%2 == 0 {
			for _, match := range quotedFile.FindAllStringSubmatch(part, -1) {
				file = match[1]
			}
			continue
		}
		language, content, _ := strings.Cut(part, "\n")
		if language != "" {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
			continue
		}
		for _, run := range strings.Split("\n"+content, "\n$ ")[1:] {
			commands++
			command, want, _ := strings.Cut(run, "\n")
			got, _ := exec.Command("sh", "-c", command).Output() // the status is part of what is shown
			pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), `\.\.\.`, `(?s:.*)`)
			assert.Regexp(t, "^"+pattern+"$", strings.TrimSpace(string(got)), command)
		}
	}
	assert.Equal(t, 8, commands, "every command of the section must be run")
}
