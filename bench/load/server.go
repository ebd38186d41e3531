package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"time"
)

const (
	readyWithin = 20 * time.Second
	stopWithin  = 5 * time.Second
)

// Server is a server process on the loopback interface.
type Server struct {
	Addr    string
	command *exec.Cmd
	exited  chan error
	stderr  tail
}

// tail keeps the end of what a server logs, for the case that it fails.
type tail struct {
	mu   sync.Mutex
	last []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	t.last = t.last[max(0, len(t.last)-tailBytes):]
	return len(p), nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.last)
}

// Start runs a program with the arguments that command makes of an address, and returns when GET /health answers 200.
func Start(ctx context.Context, program string, arguments func(addr string) []string) (*Server, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: addr, exited: make(chan error, 1)}
	s.command = exec.CommandContext(ctx, program, arguments(addr)...)
	s.command.Stderr = &s.stderr
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go func() { s.exited <- s.command.Wait() }()
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", program, err), s.Stop())
	}
	return s, nil
}

// freeAddr finds a port that is free now.
func freeAddr(ctx context.Context) (string, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr+"/health", nil)
	if err != nil {
		return err
	}
	for retry := time.NewTicker(2 * time.Millisecond); ; {
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return fmt.Errorf("not ready within %s: %w", readyWithin, ctx.Err())
		case err := <-s.exited:
			s.exited <- err
			return fmt.Errorf("it ended: %w: %s", err, bytes.TrimSpace(s.stderr.bytes()))
		}
	}
}

// Pid is the id of the process.
func (s *Server) Pid() int { return s.command.Process.Pid }

// Stop kills the process, which has no state to save, and waits for its end.
func (s *Server) Stop() error {
	_ = s.command.Process.Kill() // It fails only for a process that has ended.
	select {
	case <-s.exited:
		return nil
	case <-time.After(stopWithin):
		return fmt.Errorf("process %d did not end within %s", s.command.Process.Pid, stopWithin)
	}
}
