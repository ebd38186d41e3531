package bridge

import (
	"context"
	"errors"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/runtime"
	"github.com/tiergate/tiergate/runtime/credentials"
)

// The codes of failures. Each is an exception in Python.
const (
	CodeRejected      = "rejected"
	CodeTimedOut      = "timed_out"
	CodeSuperseded    = "superseded"
	CodeDuplicateRank = "duplicate_rank"
	CodeRevoked       = "revoked"
	CodeLate          = "late"
	CodeServiceLost   = "service_lost"
	CodeAnswer        = "unexpected_answer"
	CodeRefused       = "refused"
	CodeCredentials   = "credentials"
	CodeCancelled     = "cancelled"
	CodeEnvironment   = "environment"
	CodeRequest       = "request"
	CodeInternal      = "internal"
)

// Failure is why a call did not succeed. Message is what an operator reads; the rest is for programs.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`

	Admission *v1.Admission     `json:"admission,omitempty"`
	Core      *v1.CoreAdmission `json:"core,omitempty"`
	Verdict   *v1.Verdict       `json:"verdict,omitempty"`
	End       *v1.AttemptEnd    `json:"end,omitempty"`
	Problem   *v1.Problem       `json:"problem,omitempty"`
}

// requestError is a mistake of the caller; environmentError one of whoever set the environment.
type (
	requestError     struct{ message string }
	environmentError struct{ error }
)

func (e *requestError) Error() string { return e.message }

func failure(ctx context.Context, err error) *Failure {
	f := &Failure{Code: code(ctx, err), Message: err.Error()}
	var rejected *runtime.RejectedError
	var core *runtime.CoreRejectedError
	var ended *runtime.EndedError
	switch {
	case errors.As(err, &rejected):
		f.Admission, f.Verdict = rejected.Admission, rejected.Verdict
	case errors.As(err, &core):
		f.Core = core.Admission
	case errors.As(err, &ended):
		f.End = &ended.End
	}
	errors.As(err, &f.Problem)
	return f
}

func code(ctx context.Context, err error) string {
	var rejected *runtime.RejectedError
	var core *runtime.CoreRejectedError
	var refused *runtime.ServiceError
	var request *requestError
	var environment *environmentError
	var unusable *credentials.Error
	switch {
	case errors.As(err, &unusable):
		return CodeCredentials
	case errors.As(err, &rejected), errors.As(err, &core):
		return CodeRejected
	case errors.As(err, &request):
		return CodeRequest
	case errors.As(err, &environment):
		return CodeEnvironment
	case errors.As(err, &refused):
		return CodeRefused
	case ctx.Err() != nil:
		return CodeCancelled
	}
	for _, known := range []struct {
		err  error
		code string
	}{
		{runtime.ErrTimedOut, CodeTimedOut},
		{runtime.ErrSuperseded, CodeSuperseded},
		{runtime.ErrDuplicateRank, CodeDuplicateRank},
		{runtime.ErrRevoked, CodeRevoked},
		{runtime.ErrLate, CodeLate},
		{runtime.ErrServiceLost, CodeServiceLost},
		{runtime.ErrAnswer, CodeAnswer},
	} {
		if errors.Is(err, known.err) {
			return known.code
		}
	}
	return CodeRequest // what is left is a membership that contradicts itself
}
