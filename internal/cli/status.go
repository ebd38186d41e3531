package cli

import (
	"errors"
	"fmt"
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Status is how the process ends. As an error it carries a status whose reason has been written already.
type Status int

// The exit statuses.
const (
	StatusAllow    Status = 0
	StatusDeny     Status = 1
	StatusUsage    Status = 2 // also input and policies that cannot be read
	StatusUnknown  Status = 3
	StatusTimeout  Status = 4 // also a service that cannot be reached
	StatusInternal Status = 5
)

// severity orders the statuses from best to worst.
var severity = []Status{StatusAllow, StatusUnknown, StatusDeny, StatusUsage, StatusTimeout, StatusInternal}

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// orNil is the error of a command that ends with the status.
func (s Status) orNil() error {
	if s == StatusAllow {
		return nil
	}
	return s
}

// worse returns the one of two statuses that decides.
func worse(a, b Status) Status {
	if slices.Index(severity, a) > slices.Index(severity, b) {
		return a
	}
	return b
}

// verdictStatus is the status of a verdict. An outcome that is none of the three never passes for an allow.
func verdictStatus(verdict *v1.Verdict) Status {
	switch verdict.Outcome {
	case v1.Allow:
		return StatusAllow
	case v1.Deny:
		return StatusDeny
	case v1.Unknown:
		return StatusUnknown
	default:
		return StatusInternal
	}
}

// usageError is a mistake on the command line.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// statusOf classifies the error of a command.
func statusOf(err error) Status {
	var status Status
	var usage *usageError
	var stopped interrupted
	switch {
	case err == nil:
		return StatusAllow
	case errors.As(err, &stopped):
		return stopped.status()
	case errors.As(err, &status):
		return status
	case errors.As(err, &usage):
		return StatusUsage
	}
	_, status = explainFailure(err)
	return status
}
