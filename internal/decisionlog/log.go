package decisionlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// The reasons for which records are dropped.
const (
	DropBuffer   = "buffer_full"  // the sink or the disk is slower than the decisions
	DropSpool    = "spool_full"   // the sink takes nothing, and the spool has reached its size
	DropDisk     = "spool_failed" // the spool could not be written, e.g. because the disk is full
	DropRefused  = "sink_refused" // the sink says that it will never take these
	DropShutdown = "shutdown"     // the process ended before the sink took them
	DropCorrupt  = "spool_corrupt"
)

// Reasons are all of them.
var Reasons = []string{DropBuffer, DropSpool, DropDisk, DropRefused, DropShutdown, DropCorrupt}

const (
	// maxBatch is where a batch ends; a single record may be larger. Bytes.
	maxBatch = 256 << 10
	// leastBytes is what a record counts at least in the buffer.
	leastBytes = 2 << 10
	// DefaultBuffer bounds what waits in memory. Bytes.
	DefaultBuffer = 64 << 20
	// DefaultSpool bounds what waits on disk. Bytes.
	DefaultSpool = 1 << 30
)

// Options configure a Log.
type Options struct {
	Sink Sink
	// Linger is how long a batch waits for more records.
	Linger time.Duration
	// Spool is a directory in which records wait for the sink, also across restarts; empty keeps them in memory only.
	Spool string
	// SpoolBytes and BufferBytes bound what waits on disk and in memory. What does not fit is dropped, the newest first.
	SpoolBytes, BufferBytes int64
	// RecentBytes is how much of the last records is kept in memory for Recent.
	RecentBytes int
	// Mask gives the pointers of what is erased from every record.
	Mask func() []string
	// Labels are in every record.
	Labels map[string]string
	Logger *slog.Logger
}

// SetDefaults fills in what is zero.
func (o *Options) SetDefaults() {
	if o.SpoolBytes == 0 {
		o.SpoolBytes = DefaultSpool
	}
	if o.BufferBytes == 0 {
		o.BufferBytes = DefaultBuffer
	}
	if o.Mask == nil {
		o.Mask = func() []string { return nil }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Validate reports what no log could run with.
func (o *Options) Validate() error {
	switch {
	case o.Sink == nil:
		return errors.New("a decision log needs a sink")
	case o.BufferBytes < leastBytes:
		return fmt.Errorf("a buffer of %d bytes holds no record; allowed are at least %d", o.BufferBytes, leastBytes)
	case o.SpoolBytes < 4*maxBatch:
		return fmt.Errorf("a spool of %d bytes holds too few records; allowed are at least %d", o.SpoolBytes, 4*maxBatch)
	}
	return nil
}

// Log takes records and delivers them in the background. Its methods are safe for concurrent use.
type Log struct {
	opts     Options
	recent   recent
	queue    chan queued
	waiting  atomic.Int64 // bytes in the queue
	spool    *spool
	stop     chan struct{}
	pressing chan struct{} // there is no time to linger
	stopping atomic.Bool
	// sending ends with the time that Close gives.
	sending context.Context
	cut     context.CancelFunc
	tasks   sync.WaitGroup

	recorded, spooled, delivered atomic.Int64
	dropped                      map[string]*atomic.Int64
}

type queued struct {
	record *Record
	bytes  int64
}

// Open starts a log. The caller closes it; the log closes the sink.
func Open(opts Options) (*Log, error) {
	opts.SetDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	l := &Log{
		opts: opts, queue: make(chan queued, opts.BufferBytes/leastBytes), stop: make(chan struct{}), pressing: make(chan struct{}, 1),
		dropped: map[string]*atomic.Int64{},
	}
	l.recent.limit = opts.RecentBytes
	for _, reason := range Reasons {
		l.dropped[reason] = new(atomic.Int64)
	}
	l.sending, l.cut = context.WithCancel(context.Background())
	if opts.Spool != "" {
		var err error
		if l.spool, err = openSpool(opts.Spool, opts.SpoolBytes); err != nil {
			return nil, fmt.Errorf("open spool of decisions: %w", err)
		}
	}
	l.tasks.Go(l.run)
	return l, nil
}

// Record takes a record, which must not be changed any more, nor its launch. Bytes is about what it holds. It never waits; a
// nil log takes nothing.
func (l *Log) Record(r *Record, bytes int64) {
	if l == nil {
		return
	}
	l.recorded.Add(1)
	bytes = max(bytes, leastBytes)
	switch {
	case l.stopping.Load():
		l.drop(DropShutdown, 1)
		return
	case l.waiting.Add(bytes) > l.opts.BufferBytes:
		l.waiting.Add(-bytes)
		l.drop(DropBuffer, 1)
		return
	}
	if l.waiting.Load() > l.opts.BufferBytes/2 {
		select {
		case l.pressing <- struct{}{}:
		default:
		}
	}
	select {
	case l.queue <- queued{r, bytes}:
	default:
		l.waiting.Add(-bytes)
		l.drop(DropBuffer, 1)
	}
}

// Close delivers what waits for as long as the context allows. What is spooled then stays for the next start, and the rest is
// dropped; the error says how many these are.
func (l *Log) Close(ctx context.Context) error {
	if l.stopping.Swap(true) {
		return nil
	}
	close(l.stop)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.tasks.Wait()
	}()
	defer context.AfterFunc(ctx, l.cut)()
	select {
	case <-ended:
	case <-ctx.Done():
		l.cut()
		select {
		case <-ended:
		case <-time.After(graceOfSink): // a write to a pipe that nobody reads cannot be called back
			return errors.New("close decision log: the sink hangs; what it was given may be lost")
		}
	}
	l.cut()
	err := l.opts.Sink.Close()
	if l.spool != nil {
		err = errors.Join(err, l.spool.close())
	}
	if n := l.dropped[DropShutdown].Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("close decision log: %d records were dropped, because the sink did not take them in time", n))
	}
	return err
}

// graceOfSink is how long a sink may take to notice that its time is over.
const graceOfSink = 500 * time.Millisecond

func (l *Log) drop(reason string, n int64) { l.dropped[reason].Add(n) }

// Stats count records since the start.
type Stats struct {
	Recorded, Spooled, Delivered int64
	// Dropped is by reason.
	Dropped map[string]int64
}

// Stats returns the counts until now. What is spooled has been synced to the disk.
func (l *Log) Stats() Stats {
	s := Stats{Recorded: l.recorded.Load(), Spooled: l.spooled.Load(), Delivered: l.delivered.Load(), Dropped: map[string]int64{}}
	for reason, n := range l.dropped {
		s.Dropped[reason] = n.Load()
	}
	return s
}
