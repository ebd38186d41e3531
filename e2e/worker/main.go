package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tiergate/tiergate/runtime"
)

// Main is the whole program of a worker if the environment makes this process one; it then does not return.
func Main() {
	text, isWorker := os.LookupEnv(Variable)
	if !isWorker {
		return
	}
	if err := run([]byte(text), os.Environ(), os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(text []byte, env []string, stdin io.Reader, stdout, stderr io.Writer) error {
	var spec Spec
	if err := json.Unmarshal(text, &spec); err != nil {
		return fmt.Errorf("read %s: %w", Variable, err)
	}
	var log slog.Handler = slog.NewJSONHandler(stderr, nil)
	if spec.Rounds > 0 {
		log = slog.DiscardHandler // rounds are timed, and nobody reads what they log
	}
	steps := newSteps(log, spec.Faults)
	out := json.NewEncoder(stdout)
	if spec.Rounds == 0 {
		return out.Encode(spec.register(env, steps))
	}
	lines := bufio.NewScanner(stdin)
	name := spec.Engine.ID
	for round := 0; round < spec.Rounds && lines.Scan(); round++ {
		spec.Engine.ID = name + "-" + strconv.Itoa(round)
		if err := out.Encode(spec.register(env, steps)); err != nil {
			return err
		}
	}
	return lines.Err()
}

// register calls the runtime once.
func (s *Spec) register(env []string, steps *steps) Result {
	steps.begin()
	result := Result{Rank: s.Rank}
	gate, err := runtime.New(runtime.Options{
		URL: s.URL, Engine: s.Engine.ID, Deadline: time.Duration(s.DeadlineMS) * time.Millisecond, Environ: env,
		Logger: slog.New(steps),
	})
	if err == nil {
		result.Called = now()
		err = gate.RegisterKV(context.Background(), s.Membership(), s.allocate)
		result.Returned = now()
	}
	steps.tell(&result)
	var rejected *runtime.RejectedError
	var ended *runtime.EndedError
	switch {
	case err == nil:
		result.Kind = "admitted"
	case errors.As(err, &rejected):
		result.Kind, result.Admission = "rejected", rejected.Admission
	case errors.As(err, &ended):
		result.Kind = ended.End.Kind
	case errors.Is(err, runtime.ErrServiceLost):
		result.Kind = "service_lost"
	default:
		result.Kind = "other"
	}
	if err != nil {
		result.Error = err.Error()
	}
	return result
}

// allocate stands for the allocation of the region.
func (s *Spec) allocate(context.Context) error {
	if s.Marker == "" {
		return nil
	}
	f, err := os.OpenFile(s.Marker, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// now is a time that can be compared with that of another process.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // the kernel always has that clock
	}
	return t.Nano()
}
