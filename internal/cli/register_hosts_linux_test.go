package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/hosttest"
)

// Ranks on two hosts: all processes say the same, and none of their commands runs.
func TestRegisterOnTwoHosts(t *testing.T) {
	lab := hosttest.New(t)
	url := serve(t)                                  // at a socket in the file system, which the hosts share
	binary := filepath.Join(t.TempDir(), "tiergate") // TestMain goes by the name
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, binary))
	var processes []*hosttest.Process
	for i, name := range []string{"gpu-a", "gpu-b"} {
		host := lab.Host(t, name, hosttest.Shm{})
		processes = append(processes, host.Start(t, hosttest.Command{Path: binary, Args: []string{
			"register", "--server", url, "--engine", "chat", "--world-size", "4", "--pipeline", "2",
			"--ranks", fmt.Sprintf("%d-%d", 2*i, 2*i+1), "--", "echo", "never",
		}, Env: os.Environ()}))
		defer func() { assert.Empty(t, host.Segments(t), "nothing is left behind") }()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var answers []string
	for _, p := range processes {
		assert.Equal(t, 1, p.Wait(ctx, t))
		assert.Empty(t, p.Stdout.String())
		_, answer, found := strings.Cut(p.Stderr.String(), "REJECTED ")
		require.True(t, found, p.Stderr.String())
		answers = append(answers, answer)
	}
	assert.Equal(t, answers[0], answers[1])
	assert.Contains(t, answers[0], "engine chat, attempt 1\n"+
		"  TieringOffloadingSpec secondary tiers are not supported on engines whose workers span several\n")
	assert.Contains(t, answers[0], `
  rank grid of 4 ranks: pipeline 2 x tensor 2
         tp0      tp1
    pp0  0 gpu-a* 1 gpu-a*  pp
    pp1  2 gpu-b* 3 gpu-b*  pp
    * is in a group that spans nodes, of the kind behind the row
    gpu-a  ranks 0-1   gpu-b  ranks 2-3
`)
}
