package hosttest

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Command is a program to run on a host.
type Command struct {
	// Path is absolute: hosts see the machine's files, but no working directory.
	Path string
	Args []string
	Env  []string
	// UID is also the group; 0 is root.
	UID uint32
}

// Process is a running or ended program. It is killed with the test.
type Process struct {
	// Stdout and Stderr are what it wrote so far.
	Stdout, Stderr Output
	cmd            *exec.Cmd
	ended          chan struct{}
}

// Start runs a program on the host. Its exit is not the test's business until it asks.
func (h *Host) Start(tb testing.TB, c Command) *Process {
	tb.Helper()
	p := &Process{ended: make(chan struct{})}
	p.cmd = exec.Command(c.Path, c.Args...)
	p.cmd.Env, p.cmd.Dir = c.Env, "/"
	p.cmd.Stdout, p.cmd.Stderr = &p.Stdout, &p.Stderr
	p.cmd.WaitDelay = time.Second // a child of the child may hold the pipes
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if c.UID != 0 {
		p.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: c.UID, Gid: c.UID}
	}
	// A child is in the namespaces of the thread that started it, and killed when that ends.
	require.NoError(tb, h.thread.do(p.cmd.Start), "start %s on %s", c.Path, h.Name)
	go func() {
		_ = p.cmd.Wait() // how it ended is in its ProcessState
		close(p.ended)
	}()
	tb.Cleanup(func() {
		p.Kill()
		<-p.ended
	})
	return p
}

// PID is that of the machine: all hosts share its process ids.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill kills the process and its children at once; Stop makes them stand still until Cont.
func (p *Process) Kill() { p.signal(syscall.SIGKILL) }

// Stop makes the process stand still.
func (p *Process) Stop() { p.signal(syscall.SIGSTOP) }

// Cont lets a stopped process go on.
func (p *Process) Cont() { p.signal(syscall.SIGCONT) }

// Terminate asks the process to end.
func (p *Process) Terminate() { p.signal(syscall.SIGTERM) }

func (p *Process) signal(s syscall.Signal) {
	select {
	case <-p.ended: // its id may be another's by now
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// Ended is closed once the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Wait returns the exit status, -1 for one that a signal ended. If the context ends first, the test fails.
func (p *Process) Wait(ctx context.Context, tb testing.TB) int {
	tb.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-ctx.Done():
		require.FailNow(tb, fmt.Sprintf("%s runs on: %v", p.cmd, ctx.Err()), p.Stderr.String())
		return 0
	}
}

// Output is what a process writes to one stream.
type Output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
	return o.text.Write(b)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Await returns the first line that contains part, as soon as it is complete. If the context ends first, the test fails.
func (o *Output) Await(ctx context.Context, tb testing.TB, part string) string {
	tb.Helper()
	for {
		o.mu.Lock()
		text := o.text.String()
		if o.changed == nil {
			o.changed = make(chan struct{})
		}
		changed := o.changed
		o.mu.Unlock()
		for line := range strings.Lines(text) {
			if strings.Contains(line, part) && strings.HasSuffix(line, "\n") {
				return line
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			require.FailNow(tb, fmt.Sprintf("no line with %q: %v", part, ctx.Err()), text)
		}
	}
}
