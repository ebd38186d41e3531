package worker

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// steps is a handler of the runtime's log: it passes lines on, notes when steps happened, and has faults happen after them.
type steps struct {
	slog.Handler
	*record
}

// record is what handlers of one registration share.
type record struct {
	mu       sync.Mutex
	faults   []Fault
	released chan os.Signal
	files    unix.Rlimit
	// at are the times of messages; the last counts.
	at     map[string]int64
	opened []Opened
}

func newSteps(next slog.Handler, faults []Fault) *steps {
	r := &record{faults: faults, released: make(chan os.Signal, 1)}
	signal.Notify(r.released, unix.SIGUSR1)
	return &steps{next, r}
}

func (s *steps) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.opened = map[string]int64{}, nil
}

func (s *steps) tell(r *Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Opened = s.opened
	r.Sent, r.Judged, r.Answered = s.at["report sent"], s.at["verdict received"], s.at["answers sent"]
	r.Admitted = s.at["admission received"]
}

// Enabled is true also where nobody reads the lines.
func (s *steps) Enabled(context.Context, slog.Level) bool { return true }

func (s *steps) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &steps{s.Handler.WithAttrs(attrs), s.record}
}

func (s *steps) WithGroup(name string) slog.Handler {
	return &steps{s.Handler.WithGroup(name), s.record}
}

func (s *steps) Handle(ctx context.Context, line slog.Record) error {
	at := now()
	err := s.Handler.Handle(ctx, line)
	s.mu.Lock()
	s.at[line.Message] = at
	if line.Message == "segment opened" {
		s.opened = append(s.opened, opened(line))
	}
	var faults []Fault
	s.faults = slices.DeleteFunc(s.faults, func(f Fault) bool {
		if f.After == line.Message {
			faults = append(faults, f)
		}
		return f.After == line.Message
	})
	s.mu.Unlock()
	for _, f := range faults {
		s.happen(f)
	}
	return err
}

func opened(line slog.Record) (o Opened) {
	line.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "kind":
			o.Kind = a.Value.String()
		case "leader":
			o.Leader = a.Value.Int64()
		case "name":
			o.Name = a.Value.String()
		case "outcome":
			o.Outcome = a.Value.String()
		case "errno":
			o.Errno = a.Value.String()
		}
		return true
	})
	return o
}

func (s *steps) happen(f Fault) {
	var err error
	switch f.Do {
	case Kill:
		if err = unix.Kill(os.Getpid(), unix.SIGKILL); err == nil {
			select {} // another thread may be the one that it ends first
		}
	case Stop:
		err = unix.Kill(os.Getpid(), unix.SIGSTOP)
	case Block:
		<-s.released
	case NoFiles:
		if err = unix.Getrlimit(unix.RLIMIT_NOFILE, &s.files); err == nil {
			err = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: s.files.Max})
		}
	case Files:
		err = unix.Setrlimit(unix.RLIMIT_NOFILE, &s.files)
	default:
		panic("no such fault: " + f.Do)
	}
	if err != nil {
		panic("fault " + f.Do + ": " + err.Error())
	}
}
