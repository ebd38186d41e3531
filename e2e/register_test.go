package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tiergate/tiergate/internal/hosttest"
)

// TestRegister runs the command that scripts use, one per node, each for several ranks of an engine of two pipeline stages of
// two ranks.
func TestRegister(t *testing.T) {
	s := newSite(t)
	binary := tiergate(t)
	svc := s.serve(t, binary, 8642)
	tests := map[string]struct {
		// ranks are those that the process on a place answers for.
		ranks    map[rune]string
		deadline string
		status   int
		says     string
	}{
		"one node":               {map[rune]string{'A': "0-3"}, "30s", 0, ""},
		"containers that share":  {map[rune]string{'A': "0-1", 'S': "2-3"}, "30s", 0, ""},
		"uneven over two nodes":  {map[rune]string{'A': "0-2", 'B': "3"}, "30s", 1, spanning},
		"two pods of one node":   {map[rune]string{'A': "0,2", 'P': "1,3"}, "30s", 1, spanning},
		"a node that never came": {map[rune]string{'A': "0-1"}, "1s", 4, "2-3"},
	}
	t.Run("engines", func(t *testing.T) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), startTime+deadline)
				defer cancel()
				dir := t.TempDir()
				processes := map[string]*hosttest.Process{}
				for letter, ranks := range test.ranks {
					marker := filepath.Join(dir, "started-"+string(letter))
					processes[marker] = s.places[letter].host.Start(t, hosttest.Command{Path: binary, Env: os.Environ(), Args: []string{
						"register", "--server", svc.tap.URL, "--engine", filepath.Base(t.Name()), "--ranks", ranks, "--world-size", "4",
						"--tensor", "2", "--pipeline", "2", "--deadline", test.deadline, "--", "/bin/sh", "-c", "echo ready >" + marker,
					}})
				}
				for marker, p := range processes {
					assert.Equal(t, test.status, p.Wait(ctx, t), p.Stderr.String())
					said := strings.Join(strings.Fields(p.Stderr.String()), " ") // it is wrapped for people
					assert.Contains(t, said, test.says)
					if test.status == 0 {
						assert.FileExists(t, marker, "the command runs")
					} else {
						assert.NoFileExists(t, marker, "the command does not run")
					}
				}
			})
		}
	})
	for _, p := range s.places {
		assert.Empty(t, p.host.Segments(t), "nothing is left on %s", p.host.Name)
	}
}
