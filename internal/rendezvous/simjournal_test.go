package rendezvous

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// simStore is one simulated store: an ordered log with every fault that a real one has, in the time of its test.
type simStore struct {
	mu    sync.Mutex
	rng   *rand.Rand
	log   []Entry
	index map[string]bool
	grown chan struct{}
	// wiped counts how often everything was lost.
	wiped int
	// slow is the longest that a message takes; lossy is the share of acknowledgements that get lost.
	slow  time.Duration
	lossy float64
}

func newSimStore(seed uint64) *simStore {
	return &simStore{rng: rand.New(rand.NewPCG(seed, 1)), index: map[string]bool{}, grown: make(chan struct{})}
}

func (s *simStore) delay() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slow == 0 {
		return 0
	}
	return time.Duration(s.rng.Int64N(int64(s.slow)))
}

func (s *simStore) chance(share float64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.Float64() < share
}

func (s *simStore) append(e Entry) {
	s.log = append(s.log, e)
	close(s.grown)
	s.grown = make(chan struct{})
}

// wipe loses everything, as an in-process store does that starts again.
func (s *simStore) wipe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wiped++
	s.log, s.index = nil, map[string]bool{}
	close(s.grown)
	s.grown = make(chan struct{})
}

// create is the compare-and-set at the moment at which it reaches the store.
func (s *simStore) create(key string, value []byte, ttl time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index[key] {
		return ErrExists
	}
	s.index[key] = true
	s.append(Entry{Key: key, Value: value, Time: time.Now()})
	generation := s.wiped
	time.AfterFunc(ttl, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.wiped != generation {
			return
		}
		delete(s.index, key)
		s.append(Entry{Key: key, Time: time.Now(), Deleted: true})
	})
	return nil
}

// simJournal is one process's connection to the store.
type simJournal struct {
	store *simStore

	mu  sync.Mutex
	cut chan struct{} // open while the connection is up
}

func newSimJournal(store *simStore) *simJournal {
	return &simJournal{store: store, cut: make(chan struct{})}
}

// partition cuts the connection until heal.
func (j *simJournal) partition() {
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case <-j.cut:
	default:
		close(j.cut)
	}
}

func (j *simJournal) heal() {
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case <-j.cut:
		j.cut = make(chan struct{})
	default:
	}
}

func (j *simJournal) isCut() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case <-j.cut:
		return true
	default:
		return false
	}
}

var (
	errLostAck = errors.New("no acknowledgement")
	errWiped   = errors.New("another journal than before")
)

func (j *simJournal) Create(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := pause(ctx, j.store.delay()); err != nil {
		return err
	}
	if j.isCut() {
		return errors.Join(errLostAck, pause(ctx, time.Second))
	}
	err := j.store.create(key, value, ttl)
	if j.store.chance(j.store.lossy) {
		err = errors.Join(errLostAck, pause(ctx, time.Second))
	}
	if waited := pause(ctx, j.store.delay()); waited != nil {
		return waited
	}
	return err
}

func (j *simJournal) Watch(ctx context.Context, deliver func(Entry), caughtUp func()) error {
	j.store.mu.Lock()
	start, generation := len(j.store.log), j.store.wiped
	j.store.mu.Unlock()
	for at := 0; ; at++ {
		if at == start {
			caughtUp()
		}
		e, err := j.next(ctx, at, generation)
		if err != nil {
			return err
		}
		deliver(e)
	}
}

// next waits for the entry at a position, and for the connection.
func (j *simJournal) next(ctx context.Context, at, generation int) (Entry, error) {
	if err := pause(ctx, j.store.delay()/4); err != nil {
		return Entry{}, err
	}
	for {
		j.store.mu.Lock()
		grown, lost := j.store.grown, j.store.wiped != generation
		var e Entry
		there := at < len(j.store.log)
		if there {
			e = j.store.log[at]
		}
		j.store.mu.Unlock()
		switch {
		case lost:
			return Entry{}, errWiped
		case there && !j.isCut():
			return e, nil
		case there: // a cut connection notices that it is up again
			if err := pause(ctx, 50*time.Millisecond); err != nil {
				return Entry{}, err
			}
		default:
			select {
			case <-grown:
			case <-ctx.Done():
				return Entry{}, context.Cause(ctx)
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
