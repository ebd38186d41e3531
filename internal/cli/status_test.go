package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tiergate/tiergate/api/client"
	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/cli/input"
	"github.com/tiergate/tiergate/internal/cli/output"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/document"
	"github.com/tiergate/tiergate/topology/kube"
	"github.com/tiergate/tiergate/topology/vllm"
)

// Of several inputs the worst counts, in the order 5, 4, 2, 1, 3, 0.
func TestWorse(t *testing.T) {
	order := []Status{StatusInternal, StatusTimeout, StatusUsage, StatusDeny, StatusUnknown, StatusAllow}
	for i, bad := range order {
		for _, better := range order[i:] {
			assert.Equal(t, bad, worse(bad, better))
			assert.Equal(t, bad, worse(better, bad))
		}
	}
}

func TestVerdictStatus(t *testing.T) {
	for outcome, want := range map[string]Status{
		v1.Allow: StatusAllow, v1.Deny: StatusDeny, v1.Unknown: StatusUnknown, "": StatusInternal, "allowed": StatusInternal,
	} {
		assert.Equal(t, want, verdictStatus(&v1.Verdict{Outcome: outcome}), outcome)
	}
}

func TestExplainFailure(t *testing.T) {
	problem := func(status int) error { return &v1.Problem{Status: status, Code: "c", Title: "Title"} }
	for name, c := range map[string]struct {
		err    error
		status Status
		want   output.Failure
	}{
		"file":      {&input.Error{Code: "c", Detail: "d"}, StatusUsage, output.Failure{Code: "c", Detail: "d"}},
		"document":  {&document.Error{Code: "c", Detail: "d", Pointer: "/p", Line: 3, Nearest: "n"}, StatusUsage, output.Failure{Code: "c", Detail: "d", Pointer: "/p", Line: 3, Nearest: "n"}},
		"manifest":  {&kube.Error{Code: "c", Object: "Pod/p", Detail: "d", Pointer: "/p", Line: 3}, StatusUsage, output.Failure{Code: "c", Detail: "Pod/p: d", Pointer: "/p", Line: 3}},
		"no object": {&kube.Error{Code: "c", Detail: "d"}, StatusUsage, output.Failure{Code: "c", Detail: "d"}},
		"command":   {&vllm.Error{Code: "c", Detail: "d", Pointer: "/p", Line: 3, Column: 4}, StatusUsage, output.Failure{Code: "c", Detail: "d", Pointer: "/p", Line: 3, Column: 4}},
		"launch":    {&topology.InputError{Code: "c", Detail: "d", Pointer: "/p", Nearest: "n"}, StatusUsage, output.Failure{Code: "c", Detail: "d", Pointer: "/p", Nearest: "n"}},

		"refused by a service": {problem(422), StatusUsage, output.Failure{Code: "c", Detail: "Title"}},
		"not its route":        {problem(404), StatusUsage, output.Failure{Code: "c", Detail: "Title"}},
		"overloaded":           {problem(503), StatusTimeout, output.Failure{Code: "c", Detail: "Title"}},
		"its deadline":         {problem(504), StatusTimeout, output.Failure{Code: "c", Detail: "Title"}},
		"its failure":          {problem(500), StatusInternal, output.Failure{Code: "c", Detail: "Title"}},
		"unreachable":          {client.ErrUnreachable, StatusTimeout, output.Failure{Code: codeUnreachable, Detail: "service unreachable"}},
		"no service":           {client.ErrAnswer, StatusTimeout, output.Failure{Code: codeUnreachable, Detail: "unexpected answer"}},

		"deadline":               {context.DeadlineExceeded, StatusTimeout, output.Failure{Code: codeTimeout, Detail: "context deadline exceeded"}},
		"interrupt":              {context.Canceled, StatusTimeout, output.Failure{Code: codeTimeout, Detail: "context canceled"}},
		"rules":                  {policy.Errors{{Code: policy.CodeParse, File: "f", Row: 2, Message: "m"}}, StatusUsage, output.Failure{Code: codePolicy, Detail: "f:2: m"}},
		"data":                   {&policy.Error{Code: policy.CodeBadData, File: "f", Message: "m"}, StatusUsage, output.Failure{Code: codePolicy, Detail: "f: m"}},
		"evaluation":             {&policy.Error{Code: policy.CodeEvaluation, Message: "m", Err: policy.ErrConflict}, StatusInternal, output.Failure{Code: policy.CodeEvaluation, Detail: "m"}},
		"its deadline in a rule": {&policy.Error{Code: policy.CodeEvaluation, Message: "m", Err: policy.ErrDeadline}, StatusTimeout, output.Failure{Code: codeTimeout, Detail: "m"}},
		"anything else":          {errors.New("m"), StatusInternal, output.Failure{Code: codeInternal, Detail: "m"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, status := explainFailure(c.err)
			assert.Equal(t, &c.want, got)
			assert.Equal(t, c.status, status)
			_, wrapped := explainFailure(fmt.Errorf("read: %w", c.err))
			assert.Equal(t, c.status, wrapped)
		})
	}
}

func TestStatusOf(t *testing.T) {
	assert.Equal(t, StatusAllow, statusOf(nil))
	assert.Equal(t, StatusUnknown, statusOf(StatusUnknown))
	assert.Equal(t, StatusUsage, statusOf(usagef("wrong")))
	assert.Equal(t, StatusInternal, statusOf(errors.New("broken")))
	assert.NoError(t, StatusAllow.orNil())
	assert.Equal(t, StatusDeny, StatusDeny.orNil())
}
