package lookback

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/decisionlog"
	"github.com/tiergate/tiergate/policy"
)

// maxLine is the longest line of a log that is read: a launch of the largest size, with its verdict. Bytes.
const maxLine = 64 << 20

// maxExamples is how many decisions are named for a flip.
const maxExamples = 3

// Group is a flip with how often it came.
type Group = v1.FlipGroup

// Summary is what a replay came to.
type Summary = v1.Replay

// maxNamed is how many failures and mismatches are told.
const maxNamed = 20

// Decider is a revision that can judge: an engine's, or a candidate's.
type Decider interface {
	DecideAsOf(ctx context.Context, now time.Time, stage string, launch *v1.Launch) (policy.Decision, error)
}

// Replay decides the launches of a log again by a revision, each at its own time and stage. Lines that are no records of a decision log are an
// error that names the first of them.
func Replay(ctx context.Context, revision string, by Decider, log io.Reader) (*Summary, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	total := &tally{Summary: Summary{Revision: revision}, groups: map[Flip]*Group{}}
	chunks := make(chan chunk, 2*runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			part := &tally{Summary: Summary{Revision: revision}, groups: map[Flip]*Group{}}
			for c := range chunks {
				if err := part.replay(ctx, by, c); err != nil {
					cancel(err)
				}
			}
			total.merge(part)
		})
	}
	err := split(ctx, log, chunks)
	close(chunks)
	workers.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return total.summary(), err
}

// chunk is some whole lines of a log; first is the number of the first.
type chunk struct {
	lines [][]byte
	first int
}

// split reads a log.
func split(ctx context.Context, log io.Reader, chunks chan<- chunk) error {
	scanner := bufio.NewScanner(log)
	scanner.Buffer(make([]byte, 1<<20), maxLine)
	c, number := chunk{first: 1}, 0
	send := func() bool {
		select {
		case chunks <- c:
			c = chunk{first: number + 1}
			return true
		case <-ctx.Done():
			return false
		}
	}
	for scanner.Scan() {
		c.lines = append(c.lines, slices.Clone(scanner.Bytes()))
		if number++; len(c.lines) == 64 && !send() {
			return nil
		}
	}
	send()
	if err := scanner.Err(); err != nil {
		return &UnreadableError{number + 1, err}
	}
	return nil
}

// UnreadableError is a line that is no record of a decision log.
type UnreadableError struct {
	Line int
	Err  error
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("line %d is no record of a decision log, one JSON object to a line: %s", e.Line, e.Err)
}

func (e *UnreadableError) Unwrap() error { return e.Err }

// tally counts what one worker finds.
type tally struct {
	Summary
	mu     sync.Mutex
	groups map[Flip]*Group
}

func (t *tally) replay(ctx context.Context, by Decider, c chunk) error {
	for i, line := range c.lines {
		if ctx.Err() != nil {
			return nil
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var r decisionlog.Record
		err := json.Unmarshal(line, &r, trusting)
		if err == nil && r.Kind == "" {
			err = errors.New("it has no kind")
		}
		if err == nil && (r.Input == nil || r.Path != policy.Verdict) {
			t.Skipped++
			continue
		}
		var then time.Time
		if err == nil {
			then, err = time.Parse(time.RFC3339, r.Now)
		}
		if err != nil {
			return &UnreadableError{c.first + i, err}
		}
		t.again(ctx, by, &r, then)
	}
	return nil
}

// again decides one launch.
func (t *tally) again(ctx context.Context, by Decider, r *decisionlog.Record, then time.Time) {
	t.Replayed++
	d, err := by.DecideAsOf(ctx, then, r.Stage, r.Input)
	if err != nil {
		t.Failed = append(t.Failed, r.DecisionID+": "+err.Error())
		return
	}
	same := d.Revision == r.Revision
	if same && d.Digest == r.Digest && string(d.JSON) == string(r.Result) {
		t.Verified++
		return
	}
	flips, err := Flips(r.Result, d.JSON)
	if err != nil {
		t.Failed = append(t.Failed, r.DecisionID+": "+err.Error())
		return
	}
	switch withheld := len(r.Masked) + len(r.Erased); {
	case same && d.Digest == r.Digest && len(flips) == 0: // as with an explanation, or with violations erased
		t.Verified++
		return
	case same && withheld > 0 && d.Digest != r.Digest:
		t.Masked++ // what flips here flips for want of what was withheld
		return
	case same:
		t.Mismatches = append(t.Mismatches, fmt.Sprintf("%s: digest %s, again %s", r.DecisionID, r.Digest, d.Digest))
		return
	}
	if len(flips) > 0 {
		t.Flipped++
	}
	for _, f := range flips {
		t.add(f, 1, r.DecisionID)
	}
}

func (t *tally) add(f Flip, count int, examples ...string) {
	g := t.groups[f]
	if g == nil {
		g = &Group{Flip: f}
		t.groups[f] = g
	}
	g.Count += count
	g.Examples = append(g.Examples, examples[:min(len(examples), maxExamples-len(g.Examples))]...)
}

func (t *tally) merge(part *tally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Replayed += part.Replayed
	t.Skipped += part.Skipped
	t.Verified += part.Verified
	t.Masked += part.Masked
	t.Flipped += part.Flipped
	t.Failed = append(t.Failed, part.Failed...)
	t.Mismatches = append(t.Mismatches, part.Mismatches...)
	for f, g := range part.groups {
		t.add(f, g.Count, g.Examples...)
	}
}

func (t *tally) summary() *Summary {
	s := t.Summary
	s.Flips = []Group{}
	for _, g := range t.groups {
		s.Flips = append(s.Flips, *g)
	}
	slices.SortFunc(s.Flips, func(a, b Group) int { return compare(a.Flip, b.Flip) })
	s.Failed, s.Mismatches = named(s.Failed), named(s.Mismatches)
	return &s
}

func named(list []string) []string {
	if len(list) <= maxNamed {
		return list
	}
	return append(list[:maxNamed:maxNamed], fmt.Sprintf("and %d more", len(list)-maxNamed))
}
