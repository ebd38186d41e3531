package journal

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/rendezvous"
)

func open(t testing.TB, opts Options) *NATS {
	t.Helper()
	j, err := Open(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(j.Close)
	return j
}

// reader collects what a watch delivers.
type reader struct {
	mu      sync.Mutex
	entries []rendezvous.Entry
	grown   chan struct{}
	caught  chan struct{}
	stopped chan error
	stop    context.CancelFunc
}

func watchJournal(t testing.TB, j *NATS) *reader {
	t.Helper()
	r := &reader{grown: make(chan struct{}), caught: make(chan struct{}), stopped: make(chan error, 1)}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	go func() {
		r.stopped <- j.Watch(ctx, func(e rendezvous.Entry) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.entries = append(r.entries, e)
			close(r.grown)
			r.grown = make(chan struct{})
		}, func() { close(r.caught) })
	}()
	t.Cleanup(func() {
		r.stop()
		<-r.stopped
	})
	return r
}

// until waits for a state of the entries.
func (r *reader) until(t testing.TB, what string, done func([]rendezvous.Entry) bool) []rendezvous.Entry {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		r.mu.Lock()
		entries, grown := r.entries, r.grown
		r.mu.Unlock()
		if done(entries) {
			return entries
		}
		select {
		case <-grown:
		case <-timeout:
			t.Fatalf("waited in vain for %s; there are %d entries", what, len(entries))
		}
	}
}

func count(n int) func([]rendezvous.Entry) bool {
	return func(entries []rendezvous.Entry) bool { return len(entries) >= n }
}

func TestCreateAndWatch(t *testing.T) {
	t.Parallel()
	j := open(t, Options{})
	assert.True(t, j.Solo())
	require.NoError(t, j.Create(t.Context(), "a.b", []byte("1"), time.Minute))
	r := watchJournal(t, j)
	<-r.caught
	assert.Len(t, r.until(t, "the old record", count(1)), 1, "what was there comes before the catching up")
	assert.ErrorIs(t, j.Create(t.Context(), "a.b", []byte("2"), time.Minute), rendezvous.ErrExists)
	large := []byte(strings.Repeat(`{"rank":1}`, 100_000))
	require.NoError(t, j.Create(t.Context(), "a.c", large, time.Minute))
	entries := r.until(t, "the new record", count(2))
	assert.Equal(t, "a.b", entries[0].Key)
	assert.Equal(t, []byte("1"), entries[0].Value)
	assert.WithinDuration(t, time.Now(), entries[0].Time, time.Minute)
	assert.Equal(t, large, entries[1].Value, "compressed on its way")
}

// TestExpiry: lifetimes end, and the watch says so; then the key is free again.
func TestExpiry(t *testing.T) {
	t.Parallel()
	j := open(t, Options{})
	r := watchJournal(t, j)
	<-r.caught
	require.NoError(t, j.Create(t.Context(), "short", []byte("1"), time.Millisecond))
	entries := r.until(t, "the expiry", count(2))
	assert.Equal(t, rendezvous.Entry{Key: "short", Time: entries[1].Time, Deleted: true}, entries[1])
	for j.Create(t.Context(), "short", []byte("2"), time.Minute) != nil { // the marker lives for a second
		require.NoError(t, t.Context().Err())
	}
	assert.Equal(t, []byte("2"), r.until(t, "the next record", count(3))[2].Value)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	j := open(t, Options{MaxBytes: 1 << 20})
	random := make([]byte, maxValue+1)
	for i := range random {
		random[i] = byte(i*i>>3 ^ i*7)
	}
	incompressible := append([]byte(nil), random...)
	state := uint64(1)
	for i := range incompressible {
		state = state*6364136223846793005 + 1442695040888963407
		incompressible[i] = byte(state >> 56)
	}
	assert.ErrorContains(t, j.Create(t.Context(), "big", incompressible, time.Minute), "allowed are 524288")
	var err error
	for i := 0; err == nil && i < 10; i++ {
		err = j.Create(t.Context(), fmt.Sprint("k", i), incompressible[:maxValue/2], time.Minute)
	}
	assert.ErrorContains(t, err, "the NATS bucket tiergate is full (at most 1048576 bytes), until records expire")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Options{Cert: "c", CA: "ca", Replicas: 2, Bucket: "a.b", MaxBytes: 1, URL: "nats://127.0.0.1:1"})
	assert.EqualError(t, err, "a client certificate needs its key, and a key its certificate: give both files, or neither\n"+
		"2 replicas: allowed are 1, 3 and 5\nbucket \"a.b\": allowed are letters, digits, - and _\n"+
		"the bucket may hold 1 bytes, the least is 524288")
	_, err = Open(t.Context(), Options{Credentials: "c"})
	assert.EqualError(t, err, "credentials and certificates are for a NATS cluster: give its URL, or leave them out")
	_, err = Open(t.Context(), Options{URL: "nats://127.0.0.1:1", Timeout: time.Second})
	assert.ErrorContains(t, err, "connect to NATS at nats://127.0.0.1:1: ")
}

// BenchmarkRoundTrip is a record from its writer to the watch of the same process.
func BenchmarkRoundTrip(b *testing.B) {
	j := open(b, Options{})
	delivered := make(chan struct{}, 1)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	caught := make(chan struct{})
	go func() {
		_ = j.Watch(ctx, func(rendezvous.Entry) { delivered <- struct{}{} }, func() { close(caught) })
	}()
	<-caught
	value := []byte(strings.Repeat("x", 1000))
	for i := 0; b.Loop(); i++ {
		if err := j.Create(b.Context(), fmt.Sprint("k.", i), value, time.Minute); err != nil {
			b.Fatal(err)
		}
		<-delivered
	}
}

// BenchmarkCreate is how many records many writers get written.
func BenchmarkCreate(b *testing.B) {
	j := open(b, Options{})
	value := []byte(strings.Repeat("x", 1000))
	var n int
	var mu sync.Mutex
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			mu.Lock()
			n++
			key := fmt.Sprint("k.", n)
			mu.Unlock()
			if err := j.Create(b.Context(), key, value, time.Minute); err != nil {
				b.Error(err)
			}
		}
	})
}
