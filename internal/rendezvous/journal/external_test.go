package journal

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/rendezvous"
	"github.com/tiergate/tiergate/internal/rendezvous/journal/natstest"
)

// TestExpiryWhileAway: whoever was cut off while a record expired hears of it afterwards.
func TestExpiryWhileAway(t *testing.T) {
	t.Parallel()
	c := natstest.NewCluster(t, 1)
	link := natstest.NewLink(t, func() string { return c.Addr(0) })
	near := open(t, Options{URL: c.URL(0), Replicas: 1})
	far := open(t, Options{URL: "nats://" + link.Addr(), Replicas: 1})
	here, there := watchJournal(t, near), watchJournal(t, far)
	<-here.caught
	<-there.caught
	require.NoError(t, near.Create(t.Context(), "short", []byte("1"), 2*time.Second))
	there.until(t, "the record", count(1))
	link.Cut()
	here.until(t, "the expiry", count(2))
	// A second expiry, later than the first one's marker would live if it lived as short as NATS allows.
	require.NoError(t, near.Create(t.Context(), "other", []byte("2"), 3*time.Second))
	here.until(t, "the second expiry", count(4))
	link.Heal()
	entries := there.until(t, "news of the second expiry", func(entries []rendezvous.Entry) bool {
		last := entries[len(entries)-1]
		return last.Key == "other" && last.Deleted
	})
	var deleted []string
	for _, e := range entries {
		if e.Deleted {
			deleted = append(deleted, e.Key)
		}
	}
	assert.Equal(t, []string{"short", "other"}, deleted)
}

// TestBucketMadeAnew: a watch ends when the bucket is another one, or lost what it had.
func TestBucketMadeAnew(t *testing.T) {
	t.Parallel()
	c := natstest.NewCluster(t, 1)
	j := open(t, Options{URL: c.URL(0), Replicas: 1})
	r := watchJournal(t, j)
	<-r.caught
	require.NoError(t, j.Create(t.Context(), "a", nil, time.Hour))
	r.until(t, "the record", count(1))
	require.NoError(t, j.js.DeleteStream(t.Context(), testStream))
	_, err := j.js.CreateStream(t.Context(), j.stream())
	require.NoError(t, err)
	select {
	case err := <-r.stopped:
		r.stopped <- err
		assert.ErrorIs(t, err, errLost)
	case <-time.After(4 * checkEvery):
		t.Fatal("the watch goes on")
	}
}

// TestBucketWentBack: servers that lost the newest records are noticed, although the bucket is still the same one.
func TestBucketWentBack(t *testing.T) {
	t.Parallel()
	c := natstest.NewCluster(t, 1)
	j := open(t, Options{URL: c.URL(0), Replicas: 1})
	c.Kill(0)
	older := filepath.Join(t.TempDir(), "older")
	require.NoError(t, os.CopyFS(older, os.DirFS(c.Dir(0))))
	c.Restart(0)
	require.True(t, persist(t.Context(), j, "a", "x"), "the connection is back")
	r := watchJournal(t, j)
	r.until(t, "the record", count(1))
	c.Kill(0)
	require.NoError(t, os.RemoveAll(c.Dir(0)))
	require.NoError(t, os.CopyFS(c.Dir(0), os.DirFS(older)))
	c.Restart(0)
	select {
	case err := <-r.stopped:
		r.stopped <- err
		assert.ErrorIs(t, err, errLost)
		assert.ErrorContains(t, err, "in part: it ends at sequence 0")
	case <-time.After(8 * checkEvery):
		t.Fatal("the watch goes on")
	}
}

// TestExpiredKeyIsFree: while the bucket still tells that a key expired, one writer of several gets it.
func TestExpiredKeyIsFree(t *testing.T) {
	t.Parallel()
	c := natstest.NewCluster(t, 1)
	j := open(t, Options{URL: c.URL(0), Replicas: 1})
	r := watchJournal(t, j)
	<-r.caught
	require.NoError(t, j.Create(t.Context(), "k", []byte("1"), time.Second))
	require.ErrorIs(t, j.Create(t.Context(), "k", []byte("2"), time.Second), rendezvous.ErrExists)
	r.until(t, "the expiry", count(2))
	var won atomic.Int32
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			if persist(t.Context(), j, "k", "3") {
				won.Add(1)
			}
		})
	}
	writers.Wait()
	assert.EqualValues(t, 1, won.Load())
	entries := r.until(t, "the new record", count(3))
	assert.Len(t, entries, 3)
	assert.Equal(t, "3", string(entries[2].Value))
}

// TestReconnectionsLeaveNoConsumers: a connection that breaks often costs the servers one consumer.
func TestReconnectionsLeaveNoConsumers(t *testing.T) {
	t.Parallel()
	c := natstest.NewCluster(t, 1)
	j := open(t, Options{URL: c.URL(0), Replicas: 1})
	r := watchJournal(t, j)
	<-r.caught
	for i := range 5 {
		c.Kill(0)
		c.Restart(0)
		key := "k." + string(rune('a'+i))
		persist(t.Context(), j, key, "x")
		entries := r.until(t, "the record after a restart", count(i+1))
		assert.Equal(t, key, entries[i].Key)
		assert.Len(t, entries, i+1, "nothing twice")
	}
	s, err := j.js.Stream(t.Context(), testStream)
	require.NoError(t, err)
	assert.Eventually(t, func() bool {
		info, err := s.Info(t.Context())
		return err == nil && info.State.Consumers == 1
	}, 2*idleLife, 100*time.Millisecond)
	r.stop()
	assert.Eventually(t, func() bool {
		info, err := s.Info(t.Context())
		return err == nil && info.State.Consumers == 0
	}, 2*idleLife, 100*time.Millisecond)
}

// TestOtherSettings: a bucket that somebody else made is neither used nor changed.
func TestOtherSettings(t *testing.T) {
	t.Parallel()
	c := natstest.NewCluster(t, 1)
	conn, err := nats.Connect(c.URL(0))
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	_, err = js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: DefaultBucket})
	require.NoError(t, err)
	_, err = Open(t.Context(), Options{URL: c.URL(0), Replicas: 1})
	require.ErrorContains(t, err, "NATS bucket tiergate is there with other settings")
	assert.ErrorContains(t, err, "direct gets is true, wanted false")
	assert.ErrorContains(t, err, "nothing was changed")
	_, err = Open(t.Context(), Options{URL: c.URL(0), Bucket: "other", Replicas: 3})
	require.Error(t, err)
	assert.True(t, strings.Contains(err.Error(), "with 3 replicas"), err.Error())
}

// TestNoJetStream: servers that keep nothing are named as the reason.
func TestNoJetStream(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(s.Shutdown)
	require.True(t, s.ReadyForConnections(20*time.Second))
	_, err = Open(t.Context(), Options{URL: s.ClientURL()})
	assert.ErrorContains(t, err, "turn JetStream on in the servers and for this account")
}
