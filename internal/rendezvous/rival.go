package rendezvous

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
)

// objection is how long the process that serves the first incarnation of a rank has to say so, before the second is taken
// for its successor. It is more than a round trip through any store, and a restarted worker loses only this much.
const objection = time.Second

// challenge ends an attempt in which another incarnation has the rank: as duplicate_rank if that one is live, because two
// processes then believe that they are this rank, else as superseded, because a worker was started again. Whoever serves
// the other one knows; where that may be another process, it is asked through the journal, and silence means nobody.
func (s *Service) challenge(ctx context.Context, a *attempt, rank int64, incarnation string) error {
	s.mu.Lock()
	m := a.members[rank]
	if m == nil || !a.open() || m.report.Incarnation == incarnation {
		s.mu.Unlock()
		return nil
	}
	live := m.presence.live()
	s.mu.Unlock()
	if !live && !s.opts.Solo {
		ask := func() []byte { return encode(rivalRecord{incarnation}) }
		// Somebody else may have asked already; the answer is the same.
		if err := s.write(ctx, a.record(recordRival, rank), ask, a.life()); err != nil {
			return err
		}
		if err := sleep(ctx, a.ended, time.Now().Add(objection)); err != nil {
			return err
		}
	}
	s.displace(ctx, a, rank, live)
	// The challenger of a live rank is itself the duplicate; that of a dead one goes on in the next attempt.
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.end != nil && a.end.record != nil && a.end.record.Kind == v1.EndDuplicate {
		return &EndedError{a.end.record.AttemptEnd}
	}
	return nil
}

// foldRival answers for an incarnation that is served here. It needs the lock.
func (s *Service) foldRival(a *attempt, rank int64, e Entry) error {
	var rival rivalRecord
	if err := json.Unmarshal(e.Value, &rival); err != nil {
		return err
	}
	a.rivals = append(a.rivals, rank)
	if m := a.members[rank]; m != nil && m.presence.live() && m.report.Incarnation != rival.Incarnation {
		s.spawn(func(ctx context.Context) { s.displace(ctx, a, rank, true) })
	}
	return nil
}

// displace writes the end of an attempt whose rank came twice.
func (s *Service) displace(ctx context.Context, a *attempt, rank int64, live bool) {
	s.mu.Lock()
	node := admission.NodeName(a.reportOf(rank))
	s.mu.Unlock()
	kind, message := v1.EndSuperseded, fmt.Sprintf("attempt %d of engine %s was superseded: rank %d (first on %s) was started again "+
		"while the attempt was open; all its ranks must start again", a.n, a.key.Engine, rank, node)
	if live {
		kind = v1.EndDuplicate
		message = fmt.Sprintf("attempt %d of engine %s has a duplicate rank: two running processes report as rank %d (one of them on %s); "+
			"give every worker its own global rank, and every engine its own id", a.n, a.key.Engine, rank, node)
	}
	s.finish(ctx, a, kind, []int64{rank}, message, nil)
}
