package rendezvous

import (
	"context"
	"math/rand/v2"
)

// maxAnswers bounds one record.
const maxAnswers = 128

// answered has an answer written. The first is written at once; those that come meanwhile go into one record after it, since
// the ranks of an engine answer all at the same moment, and a record costs the same whatever is in it. A rank that asks again
// in vain has its answer taken again.
func (s *Service) answered(a *attempt, one answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.answers = append(a.answers, one)
	if !a.answering {
		a.answering = true
		s.spawn(func(ctx context.Context) { s.writeAnswers(ctx, a) })
	}
}

// writeAnswers writes records until no answer is left.
func (s *Service) writeAnswers(ctx context.Context, a *attempt) {
	for {
		s.mu.Lock()
		some := a.answers[:min(len(a.answers), maxAnswers)]
		a.answers = a.answers[len(some):]
		a.answering = len(some) > 0 && a.open()
		goOn := a.answering
		s.mu.Unlock()
		if !goOn {
			return
		}
		record := func() []byte { return encode(answersRecord{some}) }
		if err := s.write(ctx, a.record(recordAnswers, rand.Int64()), record, a.life()); err != nil {
			s.opts.Logger.Warn("answers not written", "engine", a.key.Engine, "attempt", a.n, "error", err)
		}
	}
}
