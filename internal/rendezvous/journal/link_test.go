package journal

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/rendezvous/journal/natstest"
)

// TestBacklog: a watch that has much to catch up with does not ask for more at once than a server lets wait for it. Otherwise
// it is cut off, asks for as much again, and is cut off again.
func TestBacklog(t *testing.T) {
	t.Parallel()
	j := open(t, Options{maxPending: 2 * pullBytes})
	const records = 400
	for i := range records {
		require.NoError(t, j.Create(t.Context(), fmt.Sprint("k.", i), noise(200<<10), time.Hour))
	}
	r := watchJournal(t, j)
	assert.Len(t, r.until(t, "all records", count(records)), records)
	assert.Zero(t, j.conn.Stats().Reconnects)
}

// noise cannot be compressed.
func noise(size int) []byte {
	value := make([]byte, size)
	_, _ = rand.Read(value)
	return value
}

// TestConnectionLost: writers hear at once that their connection is lost, and the watch goes on soon after, without a gap and
// without repeats, while thousands of records are being written.
func TestConnectionLost(t *testing.T) {
	t.Parallel()
	const records, breaks = 2000, 3
	j := open(t, Options{})
	r := watchJournal(t, j)
	<-r.caught
	var writers sync.WaitGroup
	for round := range breaks {
		for i := range records {
			writers.Go(func() { persist(t.Context(), j, fmt.Sprintf("k.%d.%d", round, i), string(noise(2000))) })
		}
		r.until(t, "some records", count(round*records+records/4))
		require.NoError(t, j.conn.ForceReconnect())
		writers.Wait()
	}
	seen := map[string]bool{}
	for _, e := range r.until(t, "all records", count(breaks*records)) {
		assert.False(t, seen[e.Key], "%s is repeated", e.Key)
		seen[e.Key] = true
	}
	assert.Len(t, seen, breaks*records)
	assert.EqualValues(t, breaks, j.conn.Stats().Reconnects)
}

// TestUnderWay: a record that was under way when its connection is lost is not waited for until the writer's deadline.
func TestUnderWay(t *testing.T) {
	t.Parallel()
	c := natstest.NewCluster(t, 1)
	link := natstest.NewLink(t, func() string { return c.Addr(0) })
	j := open(t, Options{URL: "nats://" + link.Addr(), Replicas: 1})
	link.Cut()
	before := j.conn.Stats().OutMsgs
	returned := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		returned <- j.Create(ctx, "a", nil, time.Hour)
	}()
	require.Eventually(t, func() bool { return j.conn.Stats().OutMsgs > before }, 20*time.Second, time.Millisecond)
	link.Break()
	select {
	case err := <-returned:
		require.ErrorIs(t, err, errDisconnected)
	case <-time.After(20 * time.Second):
		t.Fatal("the writer still waits")
	}
	assert.ErrorIs(t, j.Create(t.Context(), "b", nil, time.Hour), errDisconnected, "nothing is kept for later")
}
