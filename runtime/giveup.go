package runtime

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

const (
	// goodbye is what telling the others may take. Together with grace it stays below a second after the deadline.
	goodbye     = 500 * time.Millisecond
	latestLeave = 900 * time.Millisecond
)

// giveUp tells the others that this rank will not come, so that they need not wait for the end of the phase. It is an
// attempt: the service may be what was lost.
func (r *registration) giveUp(ctx context.Context, why error) {
	var ended *EndedError
	var refused *ServiceError
	if errors.As(why, &ended) || errors.As(why, &refused) && r.last.AttemptID == "" {
		return
	}
	limit := min(goodbye, time.Until(r.clock.own.Add(latestLeave)))
	if limit <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	attempt, id := r.last.Attempt, r.last.AttemptID
	if id == "" {
		if attempt, id = r.lookUp(ctx); id == "" {
			return
		}
	}
	path := fmt.Sprintf("%s/attempts/%d", r.path, attempt)
	reason := fmt.Sprintf("rank %d gave up: %v", r.member.Rank, r.explained(why))
	_, _, err := r.client.send(ctx, http.MethodDelete, path, v1.Revocation{AttemptID: id, Reason: reason}, nil)
	if err != nil {
		r.log.Warn("others not told", "error", err)
	}
}

// lookUp finds the attempt that has this incarnation: a rank that gives up during its first request does not know it.
func (r *registration) lookUp(ctx context.Context) (attempt int64, id string) {
	_, text, err := r.client.send(ctx, http.MethodGet, r.path, nil, nil)
	if err != nil {
		return 0, ""
	}
	last, err := r.client.lastAttempt(text)
	if err != nil {
		return 0, ""
	}
	own := func(rank v1.RankView) bool { return rank.Incarnation == r.report.Incarnation }
	if last.Phase == v1.PhaseEnded || !slices.ContainsFunc(last.Ranks, own) {
		return 0, ""
	}
	return last.Attempt, last.AttemptID
}

// explained adds what only the registration knows to an error of the session.
func (r *registration) explained(err error) error {
	switch {
	case errors.Is(err, errOwnDeadline) && r.last.AttemptID != "":
		return &EndedError{v1.AttemptEnd{
			Attempt: r.last.Attempt, AttemptID: r.last.AttemptID, Kind: v1.EndTimedOut, Ranks: r.last.Missing,
			Message: fmt.Sprintf("rank %d waited %s, as long as it could: %s", r.member.Rank,
				(r.gate.opts.Deadline + time.Since(r.clock.own)).Round(time.Millisecond), r.waitedFor()),
		}}
	case errors.Is(err, ErrServiceLost) && r.last.AttemptID != "":
		return fmt.Errorf("%w; before that, %s", err, r.waitedFor())
	}
	return err
}

// waitedFor says what the service last said.
func (r *registration) waitedFor() string {
	what := "the verdict or the admission"
	if len(r.last.Missing) > 0 {
		ranks := make([]string, len(r.last.Missing))
		for i, rank := range r.last.Missing {
			ranks[i] = strconv.FormatInt(rank, 10)
		}
		what = "ranks " + strings.Join(ranks, ", ")
		if r.last.Phase == v1.PhaseProbe {
			what = "the probe answers of " + what
		}
	}
	return fmt.Sprintf("attempt %d was waiting for %s", r.last.Attempt, what)
}
