package journal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tiergate/tiergate/internal/rendezvous"
)

const (
	// checkEvery is how often the bucket is looked at, besides after each reconnection: one that was lost and made again goes on
	// counting from 1, which an ordered consumer would wait out in silence.
	checkEvery = 5 * time.Second
	// idleLife is how long the server keeps the consumer of a process that vanished.
	idleLife = 30 * time.Second
	// barrierPrefix begins the keys of records that only say that all before them have been delivered.
	barrierPrefix = "barrier."
	barrierLife   = 5 * time.Minute
	barrierPause  = 100 * time.Millisecond
	// maxAway is how long the bucket may be out of reach before expiries can have been missed, with a margin. A server in this
	// process is never out of reach: when its clock seems to say so, that was set, and expiries will be delivered.
	maxAway = markerLife / 2
)

// errLost says that the bucket is not the one any more that was being watched.
var errLost = errors.New("the NATS bucket was lost")

// Watch implements rendezvous.Journal by one ordered consumer.
func (j *NATS) Watch(ctx context.Context, deliver func(rendezvous.Entry), caughtUp func()) error {
	setUp, cancel := context.WithTimeout(ctx, j.opts.Timeout)
	defer cancel()
	s, err := j.ensure(setUp)
	if err != nil {
		return err
	}
	w := &watch{
		journal: j, stream: s, created: s.CachedInfo().Created, seen: s.CachedInfo().TimeStamp, deliver: deliver, caughtUp: caughtUp,
		barrier: j.prefix() + barrierPrefix + rand.Text(), failed: make(chan error, 1),
	}
	consumer, err := persistently(setUp, func(ctx context.Context) (jetstream.Consumer, error) {
		return j.js.OrderedConsumer(ctx, s.CachedInfo().Config.Name, jetstream.OrderedConsumerConfig{InactiveThreshold: idleLife})
	})
	if err != nil {
		return fmt.Errorf("watch NATS bucket: %w", err)
	}
	consuming, err := consumer.Consume(w.handle, jetstream.PullMaxBytes(pullBytes), jetstream.PullHeartbeat(pullHeartbeat),
		jetstream.ConsumeErrHandler(func(jetstream.ConsumeContext, error) {})) // the consumer mends itself; check finds what it cannot
	if err != nil {
		return fmt.Errorf("watch NATS bucket: %w", err)
	}
	defer func() {
		consuming.Stop()
		<-consuming.Closed()
	}()
	// Everything that was written before this record is delivered before it, whichever server answers.
	if err := j.writeBarrier(setUp, strings.TrimPrefix(w.barrier, j.prefix())); err != nil {
		return fmt.Errorf("write barrier: %w", err)
	}
	return w.run(ctx)
}

// writeBarrier tries again while the context allows: a bucket that was just made, or whose leader is being elected, does not
// answer for a while and is not lost.
func (j *NATS) writeBarrier(ctx context.Context, key string) error {
	for {
		err := j.Create(ctx, key, nil, barrierLife)
		if err == nil || errors.Is(err, rendezvous.ErrExists) { // an acknowledgement was lost
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(barrierPause):
		}
	}
}

const (
	// pullBytes is how much may be on its way to a watch. It is far below what a server lets wait for a connection before it
	// cuts that off, 64 MiB by default, so that thousands of ranks that report at once do not cost the watch its connection.
	pullBytes     = 4 << 20
	pullHeartbeat = 2 * time.Second
)

// watch is one run of Watch.
type watch struct {
	journal  *NATS
	stream   jetstream.Stream
	created  time.Time
	deliver  func(rendezvous.Entry)
	caughtUp func()
	// barrier is the subject of the record that ends the past; empty after it.
	barrier string
	last    atomic.Uint64 // sequence of the newest message; the consumer's goroutine sets it
	failed  chan error
	// seen is when the bucket was last looked at, by the servers' clock, which goes on while this machine is suspended.
	seen time.Time
	// behind is since when the bucket ends before what was delivered. A moment of it proves nothing: a server that just
	// became its leader may not have applied everything yet.
	behind time.Time
}

// run looks after the bucket until the context ends or the bucket is another one.
func (w *watch) run(ctx context.Context) error {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-w.failed:
			return err
		case <-ticker.C:
		case <-w.journal.reconnected:
		}
		if err := w.check(ctx); err != nil {
			return err
		}
	}
}

// check finds out whether the bucket is still the same. That nobody answers proves nothing.
func (w *watch) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkEvery)
	defer cancel()
	last := w.last.Load()
	info, err := w.stream.Info(ctx)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return errLost
	case err != nil:
		return nil
	case !info.Created.Equal(w.created):
		return fmt.Errorf("%w and made anew at %s", errLost, info.Created.Format(time.RFC3339))
	case !w.journal.Solo() && info.TimeStamp.Sub(w.seen) > maxAway:
		return fmt.Errorf("%w from sight for %s, expiries may have been missed", errLost, info.TimeStamp.Sub(w.seen))
	}
	w.seen = info.TimeStamp
	if info.State.LastSeq >= last {
		w.behind = time.Time{}
		return nil
	}
	if w.behind.IsZero() {
		w.behind = w.seen
	}
	if w.seen.Sub(w.behind) >= checkEvery/2 {
		return fmt.Errorf("%w in part: it ends at sequence %d, and %d had been delivered", errLost, info.State.LastSeq, last)
	}
	return nil
}

func (w *watch) handle(msg jetstream.Msg) {
	meta, err := msg.Metadata()
	if err != nil {
		w.fail(fmt.Errorf("message without a place in the bucket: %w", err))
		return
	}
	// An ordered consumer that starts again after a gap may deliver what was seen already.
	if meta.Sequence.Stream <= w.last.Load() {
		return
	}
	w.last.Store(meta.Sequence.Stream)
	if msg.Subject() == w.barrier {
		w.barrier = ""
		w.caughtUp()
		return
	}
	key := strings.TrimPrefix(msg.Subject(), w.journal.prefix())
	if strings.HasPrefix(key, barrierPrefix) {
		return
	}
	e := rendezvous.Entry{Key: key, Time: meta.Timestamp, Deleted: deleted(msg.Headers())}
	if !e.Deleted {
		if e.Value, err = w.journal.unpack(msg); err != nil {
			w.fail(fmt.Errorf("record %s cannot be unpacked: %w", key, err))
			return
		}
	}
	w.deliver(e)
}

func (w *watch) fail(err error) {
	select {
	case w.failed <- err:
	default:
	}
}

// deleted tells the markers of expired, deleted and purged keys from records.
func deleted(h nats.Header) bool {
	return h.Get(jetstream.MarkerReasonHeader) != "" || h.Get("KV-Operation") != ""
}
