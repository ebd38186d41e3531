package rendezvous

import (
	"context"
	"errors"
	"time"
)

// ErrExists: the record was there already, whoever wrote it.
var ErrExists = errors.New("record exists")

// Journal keeps records in one order for all processes.
type Journal interface {
	// Create writes a record that does not exist yet. ErrExists says that it does; after any other error it may or may not
	// have been written.
	Create(ctx context.Context, key string, value []byte, ttl time.Duration) error
	// Watch delivers every record in order, from the oldest that is kept, and calls caughtUp once when those that existed at
	// the start were delivered. It returns when the context ends or, with another error, when the journal is not the one any
	// more that it was, so that everything must be folded again.
	Watch(ctx context.Context, deliver func(Entry), caughtUp func()) error
}

// Entry is a record, or the news that it expired.
type Entry struct {
	Key   string
	Value []byte
	// Time is when it was written, by the clock of whoever keeps the journal.
	Time time.Time
	// Deleted entries have no value.
	Deleted bool
}
