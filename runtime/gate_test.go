package runtime

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAdmitted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		n := serve(t, service)
		ranks := pair(t, n, shmDir(t))
		for _, err := range registerAll(context.Background(), ranks) {
			require.NoError(t, err)
		}
		for _, r := range ranks {
			assert.EqualValues(t, 1, r.ran.Load())
		}
		assert.Equal(t, []string{
			"facts collected", "segment ready", "report sent", "verdict received", "segment opened", "answers sent",
			"admission received", "callback starts", "callback done",
		}, ranks[0].lines.messages())
		assert.EqualValues(t, 2, n.dialled.Load(), "one connection for each rank")
	})
}

func TestRejectedByTheProbe(t *testing.T) {
	bubble(t, func(t *testing.T) {
		service := newFake(2)
		ranks := pair(t, serve(t, service), shmDir(t), shmDir(t))
		errs := registerAll(context.Background(), ranks)
		for i, err := range errs {
			var rejected *RejectedError
			require.ErrorAs(t, err, &rejected)
			assert.Equal(t, "rank 1 of tp [0 1]: not_shared; ", err.Error())
			assert.Zero(t, ranks[i].ran.Load())
		}
	})
}
