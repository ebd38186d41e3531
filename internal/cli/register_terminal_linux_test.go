package cli

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal returns both ends of a terminal: what a person has before them, and what a process runs on.
func terminal(t *testing.T) (person, process *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %s", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	process, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	return person, process
}

// On a terminal the lines are redrawn in place, and Ctrl-C leaves nothing of them behind.
func TestRegisterOnATerminal(t *testing.T) {
	person, tty := terminal(t)
	cmd := exec.Command(os.Args[0])
	cmd.Args = []string{
		"tiergate", "register", "--server", serve(t), "--engine", "chat", "--world-size", "2", "--ranks", "0", "--", "echo", "never",
	}
	cmd.Env = append(os.Environ(), "NODE_NAME=gpu-a", "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	require.NoError(t, tty.Close())

	var seen strings.Builder
	lines := bufio.NewScanner(person) // which fails once the process is gone
	for pressed := false; lines.Scan(); {
		seen.WriteString(strings.TrimSuffix(lines.Text(), "\r") + "\n")
		if !pressed && strings.HasPrefix(lines.Text(), "  missing  rank 1") {
			_, err := person.WriteString("\x03")
			require.NoError(t, err)
			pressed = true
		}
	}
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	assert.Equal(t, 130, exit.ExitCode(), seen.String())
	assert.Regexp(t, `^engine chat: reporting to unix:///\S+, 60 s left\n`+
		`(?s:.*)\x1b\[\dA\x1b\[Jengine chat, attempt 1: waiting for reports, 1 of 2 ranks, \d+ s left\n`+
		`  here     gpu-a 0\n  missing  rank 1\n`+
		`(?s:.*)\x1b\[3A\x1b\[Jtiergate register: interrupted by signal: interrupt\n$`, seen.String())
}
