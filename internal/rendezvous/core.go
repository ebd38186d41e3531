package rendezvous

import (
	"context"
	"fmt"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
)

// Core answers an engine core: allow only if the attempt was admitted and the core sees the same memory as its rank 0.
// Without an answer and an error the attempt had not ended when the wait was over. Errors are as for Report.
func (s *Service) Core(ctx context.Context, by Caller, n int64, c *v1.CoreReport, wait time.Duration) (*v1.CoreAdmission, error) {
	if err := checkIncarnation(c.Incarnation); err != nil {
		return nil, err
	}
	a, err := s.lookUp(by, n, c.AttemptID)
	if err != nil {
		return nil, err
	}
	if err := sleep(ctx, a.ended, time.Now().Add(wait)); err != nil {
		return nil, err
	}
	result, err := s.coreAdmission(a, c)
	if err != nil || result == nil {
		return nil, err
	}
	// It is kept for those who look; the answer does not hang on it.
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	record := coreRecord{c.Incarnation, *result}
	if err := s.write(ctx, a.record(recordCore, -1), func() []byte { return encode(record) }, s.opts.Keep); err != nil {
		s.opts.Logger.Warn("core's answer not kept", "engine", by.Engine, "attempt", n, "error", err)
	}
	return result, nil
}

func (s *Service) coreAdmission(a *attempt, c *v1.CoreReport) (*v1.CoreAdmission, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case a.forgotten:
		return nil, gone(a.key, a.n)
	case a.end == nil:
		return nil, nil
	}
	record, err := a.end.read()
	switch {
	case err != nil:
		return nil, fmt.Errorf("read end of attempt: %w", err)
	case record.Admission == nil:
		return nil, &EndedError{record.AttemptEnd}
	}
	result := &v1.CoreAdmission{Outcome: v1.Reject, Message: record.Admission.Message}
	switch {
	case record.Admission.Outcome == v1.Allow && record.CoreFree:
		result.Outcome, result.Message = v1.Allow, "the site's policy does not compare the engine core with rank 0"
	case record.Admission.Outcome == v1.Allow:
		answer := admission.Core(record.First, &c.Facts)
		result = &answer
	}
	result.Attempt, result.AttemptID = a.n, a.spec.ID
	return result, nil
}

// Revoke ends an open attempt; every waiter wakes with the reason.
func (s *Service) Revoke(ctx context.Context, by Caller, n int64, r v1.Revocation) (*v1.AttemptEnd, error) {
	s.mu.Lock()
	a := s.engines[by.Key].find(n)
	if !s.ready {
		s.mu.Unlock()
		return nil, s.notReady()
	}
	s.mu.Unlock()
	if a == nil || r.AttemptID != "" && r.AttemptID != a.spec.ID {
		return nil, gone(by.Key, n)
	}
	if err := a.refuses(by); err != nil {
		return nil, err
	}
	reason := r.Reason
	if reason == "" {
		reason = "no reason given"
	}
	if len(reason) > maxReason {
		reason = reason[:maxReason] + "..."
	}
	// A rank that gives up has no time to wait for the answer, but the others need the end.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	message := fmt.Sprintf("attempt %d of engine %s was revoked: %s", n, by.Engine, reason)
	wrote := s.finish(ctx, a, v1.EndRevoked, nil, message, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case a.end == nil:
		return nil, &Error{Code: v1.CodeStore, Detail: "the revocation could not be written in time; try again"}
	case a.end.record == nil || !wrote:
		record, err := a.end.read()
		if err != nil {
			return nil, err
		}
		return nil, &EndedError{record.AttemptEnd}
	}
	end := a.end.record.AttemptEnd
	return &end, nil
}

// maxReason bounds what a revocation can make all waiters print. Bytes.
const maxReason = 512
