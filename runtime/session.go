package runtime

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// session asks the service until it answers, or until the deadline.
type session struct {
	client *client
	clock  deadline
	// longest is what one request waits at most.
	longest time.Duration
	pause   backoff
	// heard is when the service last answered, or when the session began; failure is what happened since.
	heard   time.Time
	failure error
}

func newSession(c *client, opts *Options) *session {
	now := time.Now()
	s := &session{client: c, clock: deadline{own: now.Add(opts.Deadline)}, longest: longestPoll, heard: now}
	if opts.Waiting != nil {
		s.longest = firstPoll
	}
	return s
}

// errOwnDeadline: the service is well, but what it waits for takes longer than the caller allowed, or this process was
// stopped meanwhile.
var errOwnDeadline = fmt.Errorf("%w: this process's own deadline is over", ErrTimedOut)

// request is what a session sends.
type request struct {
	method, path string
	// body makes what is sent anew for each try; nil for requests without one.
	body func() any
	// sent is called once the request was written, in any goroutine, and at the latest before its answer is returned.
	// It may be called again for each try.
	sent func()
	// waiting reads what a 202 says. A request without it does not ask the service to wait.
	waiting func(answer []byte) error
}

// poll sends a request until its answer is a 200, which it returns. Errors are those of client.send that do not pass,
// errOwnDeadline, ErrServiceLost, and the cause of a context that ended.
func (s *session) poll(ctx context.Context, q request) ([]byte, error) {
	longest := min(s.longest, firstPoll)
	for {
		began := time.Now()
		if !began.Before(s.clock.end()) {
			return nil, s.over()
		}
		wait := s.clock.poll(began, longest)
		status, answer, err := s.try(ctx, q, wait)
		var passing *transient
		switch {
		case ctx.Err() != nil:
			return nil, cancelled(ctx)
		case errors.As(err, &passing):
			s.failure = passing.err
			err = s.rest(ctx, passing.after)
		case err != nil:
			return nil, err
		case status == http.StatusOK:
			s.answered()
			s.pause = backoff{}
			return answer, nil
		case q.waiting == nil:
			return nil, s.client.unexpected("status %d", status)
		default:
			longest = s.longest
			s.answered()
			if err = q.waiting(answer); err == nil {
				err = s.again(ctx, wait-time.Since(began))
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// try sends once. An answer that does not come in time is a failure like a broken connection.
func (s *session) try(ctx context.Context, q request, wait time.Duration) (int, []byte, error) {
	path := q.path
	if q.waiting == nil {
		wait = 0
	} else {
		path += "?wait=" + strconv.FormatInt(wait.Milliseconds(), 10) + "ms"
	}
	until := earlier(s.clock.end(), time.Now().Add(wait+slack))
	silence := fmt.Errorf("no answer in %s", time.Until(until).Round(time.Millisecond))
	ctx, cancel := context.WithDeadlineCause(ctx, until, silence)
	defer cancel()
	var body any
	if q.body != nil {
		body = q.body()
	}
	status, answer, err := s.client.send(ctx, q.method, path, body, q.sent)
	var passing *transient
	if errors.As(err, &passing) && ctx.Err() != nil {
		passing.err = context.Cause(ctx)
	}
	if err == nil && q.sent != nil {
		q.sent() // an answer can be read before the note arrives that its request was written
	}
	return status, answer, err
}

// again is after a 202. A service that gives one before its time is given some.
func (s *session) again(ctx context.Context, early time.Duration) error {
	if !s.heard.Before(s.clock.own) {
		return errOwnDeadline
	}
	if early > 0 {
		return s.rest(ctx, 0)
	}
	s.pause = backoff{}
	return nil
}

func (s *session) answered() { s.heard, s.failure = time.Now(), nil }

// rest waits before the next try, and for what the service asked in addition, but not beyond the deadline.
func (s *session) rest(ctx context.Context, asked time.Duration) error {
	pause := s.pause.next() + min(asked, longestAsked)
	timer := time.NewTimer(min(pause, time.Until(s.clock.end())))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return cancelled(ctx)
	case <-timer.C:
		return nil
	}
}

// over is why nothing is waited for any more: the service failed since its last answer, or it did not.
func (s *session) over() error {
	if s.failure == nil {
		return errOwnDeadline
	}
	return fmt.Errorf("%w: %s gave no answer for %s; the last try: %v", ErrServiceLost, s.client.url,
		time.Since(s.heard).Round(time.Millisecond), s.failure)
}

func cancelled(ctx context.Context) error {
	return fmt.Errorf("cancelled: %w", context.Cause(ctx))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
