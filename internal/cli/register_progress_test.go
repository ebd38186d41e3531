package cli

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Where no terminal is: a line at the start, at each phase, and every ten seconds.
func TestProgressLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		r := &registering{engine: "chat", server: "nowhere", world: 4, ranks: []int64{0, 1}, deadline: time.Minute}
		p := newProgress(&app{stderr: &out}, r)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { p.run(ctx) })
		told := v1.Progress{Attempt: 3, AttemptID: "x", Phase: v1.PhaseReport, Missing: []int64{2, 3}, RemainingMS: 44000}

		time.Sleep(11 * time.Second) // nobody answers
		for range 12 {
			p.heard(told)
			told.RemainingMS -= 1000
			time.Sleep(time.Second)
		}
		p.heard(v1.Progress{Attempt: 3, AttemptID: "x", Phase: v1.PhaseProbe, Missing: []int64{1}, RemainingMS: 15000})
		p.heard(told) // from another rank, overtaken
		time.Sleep(18 * time.Second)
		stop()
		running.Wait()
		assert.Equal(t, `tiergate register: engine chat: ranks 0-1 of 4 report to nowhere, for up to 1m0s
tiergate register: engine chat: no answer from nowhere for 10 s, 50 s left
tiergate register: engine chat, attempt 3: waiting for reports, 2 of 4 ranks, 44 s left; missing: ranks 2-3
tiergate register: engine chat, attempt 3: waiting for reports, 2 of 4 ranks, 34 s left; missing: ranks 2-3
tiergate register: engine chat, attempt 3: probing shared memory, 3 of 4 ranks, 15 s left; missing: rank 1
tiergate register: engine chat, attempt 3: probing shared memory, 3 of 4 ranks, 5 s left (the service has been silent for 10 s); missing: rank 1
`, out.String())
	})
}
