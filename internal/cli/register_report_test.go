package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
	gate "github.com/tiergate/tiergate/runtime"
)

func TestRegisterStatus(t *testing.T) {
	ended := func(kind string) error { return &gate.EndedError{End: v1.AttemptEnd{Kind: kind}} }
	refused := func(status int) error { return &gate.ServiceError{Problem: &v1.Problem{Status: status}} }
	for _, test := range []struct {
		err  error
		want Status
	}{
		{ended(v1.EndTimedOut), StatusTimeout},
		{ended(v1.EndRevoked), StatusTimeout},
		{ended(v1.EndSuperseded), StatusTimeout},
		{ended(v1.EndDuplicate), StatusTimeout},
		{ended(v1.EndAdmission), StatusTimeout},
		{fmt.Errorf("%w: rank 0", gate.ErrLate), StatusTimeout},
		{fmt.Errorf("%w: nothing", gate.ErrServiceLost), StatusTimeout},
		{fmt.Errorf("%w: html", gate.ErrAnswer), StatusTimeout},
		{fmt.Errorf("cancelled: %w", context.Canceled), StatusTimeout},
		{refused(400), StatusUsage},
		{refused(409), StatusUsage},
		{refused(426), StatusUsage},
		{refused(503), StatusTimeout},
		{refused(500), StatusInternal},
		{errors.New("anything else"), StatusInternal},
	} {
		assert.Equal(t, test.want, registerStatus(test.err), test.err.Error())
	}
	assert.Equal(t, Status(143), statusOf(fmt.Errorf("wait: %w", interrupted{syscall.SIGTERM})))
}

// Ranks that failed only because another did say nothing; the others stand together by what follows from it.
func TestFailuresAlike(t *testing.T) {
	r := &registering{ranks: []int64{4, 5, 6, 7}}
	first, second := fmt.Errorf("%w: for 1.5s", gate.ErrServiceLost), fmt.Errorf("%w: for 1.6s", gate.ErrServiceLost)
	other := &gate.ServiceError{Problem: &v1.Problem{Status: 400}}
	assert.Equal(t, []failure{
		{StatusTimeout, first, []int64{4, 7}}, {StatusUsage, other, []int64{6}},
	}, r.alike([]error{first, fmt.Errorf("cancelled: %w", errElsewhere), other, second}))
	assert.Empty(t, r.alike([]error{nil, nil, nil, nil}))
}
