package cli

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// process is the real binary, which tests can kill and which can become another.
type process struct {
	*exec.Cmd
	stdout bytes.Buffer
	// lines are those of standard error, as they come; all is what was read of them.
	lines *bufio.Scanner
	all   strings.Builder
}

func startRegister(t *testing.T, args ...string) *process {
	t.Helper()
	return startTiergate(t, append([]string{"register"}, args...)...)
}

func startTiergate(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Args = append([]string{"tiergate"}, args...)
	p.Env = append(os.Environ(), "NODE_NAME=gpu-a")
	p.Stdout = &p.stdout
	stderr, err := p.StderrPipe()
	require.NoError(t, err)
	p.lines = bufio.NewScanner(stderr)
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

// until reads standard error up to a line that contains the text.
func (p *process) until(t *testing.T, text string) {
	t.Helper()
	for p.lines.Scan() {
		p.all.WriteString(p.lines.Text() + "\n")
		if strings.Contains(p.lines.Text(), text) {
			return
		}
	}
	t.Fatalf("the process never said %q, but:\n%s", text, p.all.String())
}

// end waits for the end and returns how it came.
func (p *process) end(t *testing.T) syscall.WaitStatus {
	t.Helper()
	for p.lines.Scan() {
		p.all.WriteString(p.lines.Text() + "\n")
	}
	err := p.Wait()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit)
	}
	return p.ProcessState.Sys().(syscall.WaitStatus) //nolint:forcetypeassert // on every system that these tests run on
}

func TestRegisterBecomesTheCommand(t *testing.T) {
	url := serve(t)
	first := startRegister(t, "--server", url, "--engine", "chat", "--world-size", "4", "--ranks", "0-1", "--",
		"sh", "-c", `echo "$$ $0 $1"; exit 7`, "a b", "c")
	second := startRegister(t, "--server", url, "--engine", "chat", "--world-size", "4", "--ranks", "2,3", "--", "sh", "-c", `kill -KILL $$`)
	status := first.end(t)
	assert.Equal(t, 7, status.ExitStatus(), first.all.String())
	assert.Equal(t, strings.TrimSpace(first.stdout.String()), strings.Join([]string{strconv.Itoa(first.Process.Pid), "a b", "c"}, " "),
		"the command has the process and the arguments")
	status = second.end(t)
	assert.True(t, status.Signaled(), second.all.String())
	assert.Equal(t, syscall.SIGKILL, status.Signal())
	assert.Equal(t, "tiergate register: engine chat: ranks 0-1 of 4 report to "+url+", for up to 1m0s\n"+
		"tiergate register: engine chat: ranks 0-1 admitted\n", withoutWaiting(first.all.String()))
}

// withoutWaiting leaves out what depends on who was first.
func withoutWaiting(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "waiting for reports") && !strings.Contains(line, "probing") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestRegisterLeavesOnSignals(t *testing.T) {
	url := serve(t)
	for name, sig := range map[string]syscall.Signal{"int": syscall.SIGINT, "term": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			leaver := startRegister(t, "--server", url, "--engine", name, "--world-size", "3", "--ranks", "0", "--", "echo", "never")
			leaver.until(t, "missing: ranks 1-2")
			stayer := startRegister(t, "--server", url, "--engine", name, "--world-size", "3", "--ranks", "1", "--", "echo", "never")
			stayer.until(t, "missing: rank 2")
			began := time.Now()
			require.NoError(t, leaver.Process.Signal(sig))
			assert.Equal(t, 128+int(sig), leaver.end(t).ExitStatus())
			assert.Contains(t, leaver.all.String(), "tiergate register: interrupted by signal: "+sig.String()+"\n")
			assert.Equal(t, 4, stayer.end(t).ExitStatus())
			assert.Contains(t, stayer.all.String(), "rank 0 gave up: ")
			assert.Less(t, time.Since(began), 20*time.Second, "nobody waited for the deadline")
			assert.Empty(t, leaver.stdout.String()+stayer.stdout.String(), "no command ran")
		})
	}
}
