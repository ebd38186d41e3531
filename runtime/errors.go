package runtime

import (
	"errors"
	"fmt"

	v1 "github.com/tiergate/tiergate/api/v1"
)

var (
	// ErrTimedOut: ranks were missing when the time was over. *EndedError names them.
	ErrTimedOut = errors.New("timed out")
	// ErrSuperseded: another incarnation of a rank that was gone has reported; the ranks register again with it.
	ErrSuperseded = errors.New("superseded")
	// ErrDuplicateRank: two live processes say that they are one rank.
	ErrDuplicateRank = errors.New("duplicate rank")
	// ErrRevoked: a rank gave up, or somebody revoked the attempt.
	ErrRevoked = errors.New("revoked")
	// ErrLate: the admission was made without this rank, or reached it after its deadline.
	ErrLate = errors.New("late")
	// ErrServiceLost: the service could not be asked, or gave no answer, until the deadline.
	ErrServiceLost = errors.New("service lost")
	// ErrAnswer: what answered is no Tiergate service, or its answer is not one for this rank.
	ErrAnswer = errors.New("unexpected answer")
)

// RejectedError: the engine must not start. All ranks of an attempt get one with the same text.
type RejectedError struct {
	Admission *v1.Admission
	// Verdict is what the policy said; nil where the service did not tell any more.
	Verdict *v1.Verdict
}

func (e *RejectedError) Error() string {
	if e.Admission.Message == "" {
		return fmt.Sprintf("attempt %d was rejected: %s", e.Admission.Attempt, e.Admission.Code)
	}
	return e.Admission.Message
}

// CoreRejectedError: the engine core must not open the region or a tier.
type CoreRejectedError struct{ Admission *v1.CoreAdmission }

func (e *CoreRejectedError) Error() string {
	if e.Admission.Message == "" {
		return fmt.Sprintf("the engine core was rejected in attempt %d", e.Admission.Attempt)
	}
	return e.Admission.Message
}

// EndedError: the attempt ended, and not with an admission that this rank is part of. One of ErrTimedOut,
// ErrSuperseded, ErrDuplicateRank, ErrRevoked and ErrLate is in its chain.
type EndedError struct{ End v1.AttemptEnd }

func (e *EndedError) Error() string {
	if e.End.Message == "" {
		return fmt.Sprintf("attempt %d ended: %s, ranks %v", e.End.Attempt, e.End.Kind, e.End.Ranks)
	}
	return e.End.Message
}

// Unwrap gives the sentinel of the kind of end.
func (e *EndedError) Unwrap() error {
	switch e.End.Kind {
	case v1.EndTimedOut:
		return ErrTimedOut
	case v1.EndSuperseded:
		return ErrSuperseded
	case v1.EndDuplicate:
		return ErrDuplicateRank
	case v1.EndRevoked:
		return ErrRevoked
	case v1.EndAdmission:
		return ErrLate
	}
	return ErrAnswer
}

// ServiceError: the service refused a request, and would refuse it again. Its *v1.Problem is in its chain.
type ServiceError struct {
	URL     string
	Problem *v1.Problem
}

func (e *ServiceError) Error() string {
	text := "service " + e.URL + ": " + e.Problem.Error()
	if e.Problem.Pointer != "" {
		text += " (at " + e.Problem.Pointer + ")"
	}
	return text
}

// Unwrap gives the problem.
func (e *ServiceError) Unwrap() error { return e.Problem }
