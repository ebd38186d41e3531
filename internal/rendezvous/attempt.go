package rendezvous

import (
	"slices"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// engine is what has been folded of one engine. Attempts are in the order of their numbers, of which only the last can be
// open: the next one is opened by who saw the end of it.
type engine struct {
	attempts []*attempt
}

func (e *engine) last() *attempt {
	if e == nil || len(e.attempts) == 0 {
		return nil
	}
	return e.attempts[len(e.attempts)-1]
}

func (e *engine) find(n int64) *attempt {
	if e != nil {
		for _, a := range e.attempts {
			if a.n == n {
				return a
			}
		}
	}
	return nil
}

// attempt is one try of an engine to come up, as folded from the journal. What is read of it needs the service's lock.
type attempt struct {
	key    Key
	n      int64
	spec   specRecord
	opened time.Time // the store's clock

	members map[int64]*member
	// smallest is the smallest world that any rank claims.
	smallest int64
	// rivals are ranks that another incarnation asked for.
	rivals []int64
	// last is when the newest report was folded.
	last    time.Time
	verdict *verdictState
	end     *endState
	core    *coreRecord
	// phaseEnd is when the phase ends, by this process's monotonic clock.
	phaseEnd time.Time
	timer    *time.Timer
	// forgotten: the journal does not have it any more, or the journal itself was lost.
	forgotten bool

	// decided is closed with the verdict, ended with the end, and both when the attempt is forgotten.
	decided, ended chan struct{}
	// answers are those that are not written yet; answering tells that somebody writes them.
	answers   []answer
	answering bool
	// busy are the kinds of records that this process is making.
	busy map[string]bool
}

// member is a rank that reported.
type member struct {
	rank     int64
	report   *v1.Report
	reported time.Time
	digest   string
	outcomes []v1.RankProbe
	presence presence
}

func newAttempt(k Key, n int64, spec specRecord, opened time.Time) *attempt {
	return &attempt{
		key: k, n: n, spec: spec, opened: opened, smallest: spec.World, members: map[int64]*member{},
		decided: make(chan struct{}), ended: make(chan struct{}), busy: map[string]bool{},
	}
}

func (a *attempt) open() bool { return a.end == nil && !a.forgotten }

func (a *attempt) phase() string {
	switch {
	case a.end != nil:
		return v1.PhaseEnded
	case a.verdict != nil:
		return v1.PhaseProbe
	default:
		return v1.PhaseReport
	}
}

func (a *attempt) remaining() time.Duration {
	if a.end != nil {
		return 0
	}
	return max(time.Until(a.phaseEnd), 0)
}

// world is the number of ranks that must report. Ranks that disagree on it will not all come: as soon as the smallest
// engine that anybody claims is complete, there is enough to say who says what.
func (a *attempt) world() int64 { return a.smallest }

// missing lists the ranks that did not report.
func (a *attempt) missing() []int64 {
	return a.without(func(m *member) bool { return m == nil })
}

// unanswered lists the ranks of the verdict whose probe answers are missing.
func (a *attempt) unanswered() []int64 {
	return a.without(func(m *member) bool { return m != nil && m.outcomes == nil })
}

func (a *attempt) without(is func(*member) bool) []int64 {
	var ranks []int64
	for rank := range a.world() {
		if is(a.members[rank]) {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

func (a *attempt) complete() bool {
	world := a.world()
	if int64(len(a.members)) < world {
		return false
	}
	for rank := range world {
		if a.members[rank] == nil {
			return false
		}
	}
	return true
}

// sorted lists the members by rank.
func (a *attempt) sorted() []*member {
	list := make([]*member, 0, len(a.members))
	for _, m := range a.members {
		list = append(list, m)
	}
	slices.SortFunc(list, func(x, y *member) int { return int(x.rank - y.rank) })
	return list
}

// has tells whether a record was folded, or cannot matter any more.
func (a *attempt) has(k recordKey) bool {
	if a.forgotten || a.end != nil && k.kind != recordCore {
		return true
	}
	switch k.kind {
	case recordReport:
		return a.members[k.rank] != nil
	case recordRival:
		return slices.Contains(a.rivals, k.rank)
	case recordVerdict:
		return a.verdict != nil
	case recordCore:
		return a.core != nil
	}
	return false
}
