package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/rendezvous"
	"github.com/tiergate/tiergate/internal/rendezvous/journal/natstest"
)

const testStream = "KV_" + DefaultBucket

// contest has every journal try to create the same keys, until each knows of each key that it exists, while disturb breaks
// the cluster. It returns who was told to have written a key.
func contest(t *testing.T, journals []*NATS, keys int, disturb func()) map[string][]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var mu sync.Mutex
	acknowledged := map[string][]int{}
	var writers sync.WaitGroup
	begun := make(chan struct{})
	for w, j := range journals {
		writers.Go(func() {
			for n := range keys {
				if w == 0 && n == keys/4 {
					close(begun)
				}
				key := fmt.Sprint("k.", n)
				if persist(ctx, j, key, fmt.Sprint(w)) {
					mu.Lock()
					acknowledged[key] = append(acknowledged[key], w)
					mu.Unlock()
				}
			}
		})
	}
	select {
	case <-begun: // the trouble comes in the middle of the writing
	case <-ctx.Done():
	}
	disturb()
	writers.Wait()
	require.NoError(t, ctx.Err(), "the writers did not get done")
	return acknowledged
}

// persist tries until the record is there, and tells whether this call was told to have written it.
func persist(ctx context.Context, j *NATS, key, value string) bool {
	for ctx.Err() == nil {
		try, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := j.Create(try, key, []byte(value), time.Hour)
		cancel()
		if err == nil {
			return true
		}
		if errors.Is(err, rendezvous.ErrExists) {
			return false
		}
	}
	return false
}

// agreed checks that all readers saw the same, each key once, and that whoever was told to have written a key did.
func agreed(t *testing.T, readers []*reader, keys int, acknowledged map[string][]int) {
	t.Helper()
	first := readers[0].until(t, "all keys", count(keys))
	require.Len(t, first, keys)
	winners := map[string]string{}
	for _, e := range first {
		assert.NotContains(t, winners, e.Key, "a key was written twice")
		winners[e.Key] = string(e.Value)
	}
	for key, by := range acknowledged {
		require.Len(t, by, 1, "%s was acknowledged to several", key)
		assert.Equal(t, winners[key], fmt.Sprint(by[0]), "%s is not what was acknowledged", key)
	}
	for _, r := range readers[1:] {
		assert.Equal(t, first, r.until(t, "all keys", count(keys)), "readers saw different sequences")
	}
}

// threeServers is a cluster with a journal per server, which prefers that server, and a reader of each.
func threeServers(t *testing.T) (*natstest.Cluster, []*NATS, []*reader) {
	t.Helper()
	if testing.Short() {
		t.Skip("elections take many seconds")
	}
	c := natstest.NewCluster(t, 3)
	journals, readers := make([]*NATS, 3), make([]*reader, 3)
	for i := range journals {
		// A new bucket elects a leader, which alone can take most of the default timeout.
		journals[i] = open(t, Options{URL: c.URL(i) + "," + c.URLs(), Timeout: time.Minute})
		readers[i] = watchJournal(t, journals[i])
	}
	for _, r := range readers {
		select {
		case <-r.caught:
		case err := <-r.stopped:
			r.stopped <- err
			require.NoError(t, err, "a watch ended")
		}
	}
	return c, journals, readers
}

func TestClusterLosesItsLeader(t *testing.T) {
	t.Parallel()
	c, journals, readers := threeServers(t)
	acknowledged := contest(t, journals, 300, func() {
		leader := c.Leader(testStream)
		c.Kill(leader)
		c.Leader(testStream)
		c.Restart(leader)
	})
	agreed(t, readers, 300, acknowledged)
}

func TestClusterIsPartitioned(t *testing.T) {
	t.Parallel()
	c, journals, readers := threeServers(t)
	acknowledged := contest(t, journals, 300, func() {
		leader := c.Leader(testStream)
		c.Partition(leader)
		c.Leader(testStream, leader)
		c.Heal(leader)
	})
	agreed(t, readers, 300, acknowledged)
}

// TestClusterLosesItsQuorum: nothing hangs without one, and the watches go on when it is back.
func TestClusterLosesItsQuorum(t *testing.T) {
	t.Parallel()
	c, journals, readers := threeServers(t)
	require.NoError(t, journals[0].Create(t.Context(), "before", nil, time.Hour))
	c.Kill(1)
	c.Kill(2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	returned := make(chan error, 1)
	go func() { returned <- journals[0].Create(ctx, "during", nil, time.Hour) }()
	select {
	case err := <-returned:
		require.Error(t, err)
		assert.NotErrorIs(t, err, rendezvous.ErrExists)
	case <-time.After(10 * time.Second):
		t.Fatal("a write without quorum does not heed its deadline")
	}
	c.Start(1)
	c.Restart(2)
	late, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	persist(late, journals[0], "after", "x")
	require.NoError(t, late.Err())
	for _, r := range readers {
		entries := r.until(t, "the record after", func(entries []rendezvous.Entry) bool {
			return len(entries) > 0 && entries[len(entries)-1].Key == "after"
		})
		assert.Equal(t, "before", entries[0].Key)
	}
}
