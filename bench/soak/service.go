//go:build linux

package soak

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	readyWithin = 60 * time.Second
	stopWithin  = 30 * time.Second
)

// Service is a `tiergate serve` in a process of its own.
type Service struct {
	// Plain and Unix take requests, the first over TLS if there are certificates; Webhook is there only then.
	Plain, Unix, Webhook Target
	// diagnostic is the base URL of health and metrics.
	diagnostic string
	command    *exec.Cmd
	exited     chan error
	log        string
	client     *http.Client
}

// Options say how a service is started.
type Options struct {
	// Program is tiergate, Dir a directory for what it needs and writes, Policy a directory that it polls every second.
	Program, Dir, Policy string
	// Certificates make it speak TLS where it can.
	Certificates *Certificates
	// Processors are those it may use; none means any.
	Processors []int
}

// Start runs a service and returns when it is ready.
func Start(ctx context.Context, o Options) (*Service, error) {
	s := &Service{
		Unix: Target{Network: "unix", Address: filepath.Join(o.Dir, "s")}, log: filepath.Join(o.Dir, "log"), exited: make(chan error, 1),
		client: &http.Client{Timeout: answerWithin},
	}
	addrs, err := freeAddrs(ctx, 3)
	if err != nil {
		return nil, err
	}
	s.Plain, s.diagnostic = Target{Network: "tcp", Address: addrs[0]}, "http://"+addrs[1]
	arguments := []string{
		"serve", "--addr", addrs[0], "--addr", "unix://" + s.Unix.Address, "--diagnostic-addr", addrs[1],
		"--log-level", "warn", "--policy", o.Policy, "--policy-poll", "1s", "--keep-attempts", "1m", "--pprof",
	}
	if c := o.Certificates; c != nil {
		s.Plain.TLS = c.Client
		s.Webhook = Target{Network: "tcp", Address: addrs[2], TLS: c.Client}
		arguments = append(arguments, "--tls-cert", c.Cert, "--tls-key", c.Key, "--webhook-addr", addrs[2])
	}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the process has it
	s.command = exec.CommandContext(ctx, o.Program, arguments...)
	s.command.Stderr = log
	if err := onProcessors(o.Processors, s.command.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Program, err)
	}
	go func() { s.exited <- s.command.Wait() }()
	if err := s.ready(ctx); err != nil {
		_ = s.command.Process.Kill()
		text, _ := os.ReadFile(s.log)
		return nil, fmt.Errorf("start %s: %w: %.2000s", o.Program, errors.Join(err, <-s.exited), text)
	}
	return s, nil
}

// freeAddrs finds ports that are free now.
func freeAddrs(ctx context.Context, n int) (addrs []string, err error) {
	var config net.ListenConfig
	for range n {
		l, listenErr := config.Listen(ctx, "tcp", "127.0.0.1:0")
		if listenErr != nil {
			return nil, fmt.Errorf("find a free port: %w", listenErr)
		}
		addrs = append(addrs, l.Addr().String())
		defer func() { err = errors.Join(err, l.Close()) }()
	}
	return addrs, nil
}

// get asks the diagnostic address.
func (s *Service) get(ctx context.Context, path string) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.diagnostic+path, nil)
	if err != nil {
		return 0, nil, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read to its end
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

func (s *Service) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for retry := time.NewTicker(10 * time.Millisecond); ; {
		if status, _, err := s.get(ctx, "/health/ready"); err == nil && status == http.StatusOK {
			return nil
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return fmt.Errorf("not ready within %s: %w", readyWithin, ctx.Err())
		case err := <-s.exited:
			s.exited <- err
			return errors.New("it ended")
		}
	}
}

// Revision is that of the policy in force.
func (s *Service) Revision(ctx context.Context) (string, error) {
	_, body, err := s.get(ctx, "/health/ready")
	if err != nil {
		return "", err
	}
	var health struct{ Revision string }
	return health.Revision, json.Unmarshal(body, &health)
}

// Stop asks the service to end, as an orchestrator does, and kills it when it does not.
func (s *Service) Stop() error {
	s.client.CloseIdleConnections()
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("it ended by itself: %w", errors.Join(err, <-s.exited))
	}
	select {
	case err := <-s.exited:
		return err
	case <-time.After(stopWithin):
		_ = s.command.Process.Kill()
		return fmt.Errorf("it did not end within %s: %w", stopWithin, <-s.exited)
	}
}

// LoggedErrors are the lines of the log at error level or without any: a panic of the runtime, say.
func (s *Service) LoggedErrors() (lines []string, err error) {
	file, err := os.Open(s.log)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	in := bufio.NewScanner(file)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var line struct{ Level string }
		if json.Unmarshal(in.Bytes(), &line) != nil || line.Level == "ERROR" {
			lines = append(lines, strings.TrimSpace(in.Text()))
		}
	}
	return lines, in.Err()
}
