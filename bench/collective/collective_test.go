package collective

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReportSaysWhatIsMet(t *testing.T) {
	eight := Row{Grid: Grid{2, 2, 2}, Exchange: 4 * time.Millisecond, Whole: 5 * time.Millisecond, Check: 20 * time.Millisecond, Create: 200 * time.Millisecond}
	alone := Row{Grid: Grid{2, 2, 2}, Exchange: 4 * time.Millisecond, Whole: 5 * time.Millisecond}
	slow, two := eight, eight
	slow.Check--
	two.Grid, two.Check = Grid{2, 1, 1}, time.Millisecond
	tests := map[string]struct {
		rows []Row
		met  bool
		says string
	}{
		"just enough":            {[]Row{eight}, true, "5.0x"},
		"too slow":               {[]Row{slow}, false, "NOT met"},
		"only 8 ranks must":      {[]Row{two, eight}, true, "0.2x"},
		"nothing to compare to":  {[]Row{alone}, true, "-"},
		"groups made are slower": {[]Row{eight}, true, "50x"},
		"with facts":             {[]Row{eight}, true, "4.0x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			met, err := Report(&out, test.rows)
			require.NoError(t, err)
			assert.Equal(t, test.met, met)
			assert.Contains(t, out.String(), test.says)
		})
	}
}

// python writes a program that stands for a Python: it prints and exits.
func python(t *testing.T, stdout string, status string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "python")
	script := "#!/bin/sh\ncat >/dev/null\necho '" + stdout + "'\necho why >&2\nexit " + status + "\n"
	require.NoError(t, os.WriteFile(file, []byte(script), 0o700))
	return file
}

func TestPeer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	row := Row{Grid: Grid{2, 1, 1}}
	good := `{"torch": "2.9", "rows": [{"ranks": 2, "check_ms": 1.5, "create_and_check_ms": 20}]}`
	torch, err := Peer(ctx, python(t, good, "0"), &row, Effort{1, 1})
	require.NoError(t, err)
	assert.Equal(t, "2.9", torch)
	assert.Equal(t, Row{Grid: row.Grid, Check: 1500 * time.Microsecond, Create: 20 * time.Millisecond}, row)

	_, err = Peer(ctx, python(t, "", "3"), &row, Effort{1, 1})
	require.ErrorIs(t, err, ErrNoTorch)
	_, err = Peer(ctx, "/nonexistent/python", &row, Effort{1, 1})
	require.ErrorIs(t, err, ErrNoTorch)
	_, err = Peer(ctx, python(t, "", "1"), &row, Effort{1, 1})
	require.ErrorContains(t, err, "why")
	require.False(t, errors.Is(err, ErrNoTorch))
	_, err = Peer(ctx, python(t, strings.Replace(good, "2,", "3,", 1), "0"), &row, Effort{1, 1})
	require.ErrorContains(t, err, "the peer answered")
}
