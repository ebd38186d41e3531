package cli

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/tiergate/tiergate/api/client"
	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/cli/input"
	"github.com/tiergate/tiergate/internal/cli/output"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/policy/bundle"
	"github.com/tiergate/tiergate/runtime/credentials"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/document"
	"github.com/tiergate/tiergate/topology/kube"
	"github.com/tiergate/tiergate/topology/vllm"
)

// The codes of failures that bring no code along.
const (
	codePolicy      = "bad_policy"
	codeTimeout     = "timeout"
	codeUnreachable = "service_unreachable"
	codeInternal    = "internal"
	codeCredentials = "credentials"
)

// explainFailure says why there is no verdict, and which status that means.
func explainFailure(err error) (*output.Failure, Status) {
	if f := inputFailure(err); f != nil {
		return f, StatusUsage
	}
	var problem *v1.Problem
	var several policy.Errors
	var one *policy.Error
	var refused *bundle.Error
	var unusable *credentials.Error
	switch {
	case errors.As(err, &problem):
		return problemFailure(problem)
	case errors.As(err, &unusable):
		return &output.Failure{Code: codeCredentials, Detail: err.Error()}, StatusUsage
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, policy.ErrDeadline):
		return &output.Failure{Code: codeTimeout, Detail: err.Error()}, StatusTimeout
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, client.ErrAnswer):
		return &output.Failure{Code: codeUnreachable, Detail: err.Error()}, StatusTimeout
	case errors.As(err, &one) && one.Code == policy.CodeEvaluation:
		return &output.Failure{Code: one.Code, Detail: one.Error()}, StatusInternal
	case errors.As(err, &several), errors.As(err, &one), errors.As(err, &refused):
		return &output.Failure{Code: codePolicy, Detail: err.Error()}, StatusUsage
	}
	return &output.Failure{Code: codeInternal, Detail: err.Error()}, StatusInternal
}

// inputFailure knows the errors of what reads inputs; it is nil for others.
func inputFailure(err error) *output.Failure {
	var (
		file     *input.Error
		manifest *kube.Error
		text     *document.Error
		command  *vllm.Error
		launch   *topology.InputError
	)
	switch {
	case errors.As(err, &file):
		return &output.Failure{Code: file.Code, Detail: file.Detail}
	case errors.As(err, &manifest): // before the errors that it may wrap
		return &output.Failure{
			Code: manifest.Code, Detail: strings.TrimPrefix(manifest.Object+": ", ": ") + manifest.Detail,
			Pointer: manifest.Pointer, Line: manifest.Line,
		}
	case errors.As(err, &text):
		return &output.Failure{Code: text.Code, Detail: text.Detail, Pointer: text.Pointer, Line: text.Line, Nearest: text.Nearest}
	case errors.As(err, &command):
		return &output.Failure{
			Code: command.Code, Detail: command.Detail, Pointer: command.Pointer,
			Line: int(command.Line), Column: int(command.Column),
		}
	case errors.As(err, &launch):
		return &output.Failure{Code: launch.Code, Detail: launch.Detail, Pointer: launch.Pointer, Nearest: launch.Nearest}
	}
	return nil
}

// problemFailure takes over what a service answered instead of a verdict.
func problemFailure(p *v1.Problem) (*output.Failure, Status) {
	f := &output.Failure{
		Code: p.Code, Detail: cmp.Or(p.Detail, p.Title), Pointer: p.Pointer, Line: p.Line, Nearest: p.Nearest,
	}
	switch {
	case p.Status == http.StatusRequestTimeout, p.Status == http.StatusTooManyRequests,
		p.Status == http.StatusBadGateway, p.Status == http.StatusServiceUnavailable, p.Status == http.StatusGatewayTimeout:
		return f, StatusTimeout
	case p.Status >= 400 && p.Status < 500:
		return f, StatusUsage
	}
	return f, StatusInternal
}
