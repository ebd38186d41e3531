package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

const (
	// fetchTime bounds one request for a key set, and fetchPause is the least time between two: else anybody could make this
	// service ask as often as he likes, by naming keys that are not there.
	fetchTime  = 2 * time.Second
	fetchPause = 10 * time.Second
	// refreshAfter is when a key set is fetched again, and keepKeys how long the last one counts while that fails: longer than
	// a control plane is upgraded, shorter than a stolen key should be of use.
	refreshAfter = 5 * time.Minute
	keepKeys     = time.Hour
)

// keys is where a cluster's keys come from: a file, read with the access file, or a URL.
type keys struct {
	url, ca, token string
	now            func() time.Time
	log            *slog.Logger
	// fetchTime is the constant but for tests.
	fetchTime time.Duration

	last atomic.Pointer[fetched]
	// fetching lets one request for keys go out at once.
	fetching sync.Mutex
	mu       sync.Mutex // of what follows
	counted  Count
	tried    time.Time
	failure  error
}

// fetched are keys with when they were last seen.
type fetched struct {
	set  *keySet
	seen time.Time
}

// current is the key set in force; nil if there is none, or if nobody has confirmed it for too long.
func (k *keys) current() *keySet {
	last := k.last.Load()
	if last == nil || k.url != "" && k.now().Sub(last.seen) >= keepKeys {
		return nil
	}
	return last.set
}

// take puts a key set in force. One with the same content stays the same set, and what was verified with it stays so too.
func (k *keys) take(text []byte) error {
	set, err := parseKeySet(text)
	if err != nil {
		return err
	}
	if last := k.last.Load(); last != nil && last.set.digest == set.digest {
		set = last.set
	}
	k.last.Store(&fetched{set, k.now()})
	return nil
}

// having gives the key set in force. If the key is not in it, the set is fetched anew first, unless that was done just now.
func (k *keys) having(ctx context.Context, id string) (*keySet, error) {
	set := k.current()
	if set != nil {
		if _, known := set.byID[id]; known || k.url == "" {
			return set, nil
		}
	}
	// Whoever asks may hang up, and must not be able to cut off the fetch that others wait for.
	err := k.fetch(context.WithoutCancel(ctx))
	if set = k.current(); set != nil {
		if _, known := set.byID[id]; known || err == nil {
			return set, nil
		}
	}
	return nil, &Error{
		Code: v1.CodeKeysUnavailable, RetryAfter: fetchPause,
		Detail: "the keys that service account tokens are verified with cannot be fetched; ask again, or see the log of this service",
	}
}

// due tells whether it is time to fetch the keys again.
func (k *keys) due() bool {
	last := k.last.Load()
	return k.url != "" && (last == nil || k.now().Sub(last.seen) >= refreshAfter)
}

// fetch gets the key set, unless that was tried within the pause, and tells how the last try ended.
func (k *keys) fetch(ctx context.Context) error {
	k.fetching.Lock()
	defer k.fetching.Unlock()
	k.mu.Lock()
	tried, failure := k.tried, k.failure
	k.mu.Unlock()
	if !tried.IsZero() && k.now().Sub(tried) < fetchPause {
		return failure
	}
	ctx, cancel := context.WithTimeout(ctx, k.fetchTime)
	defer cancel()
	text, err := k.get(ctx)
	if err == nil {
		err = k.take(text)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it took more than %s: %w", k.fetchTime, err)
	}
	k.note(err)
	return err
}

// note keeps how a fetch ended, and logs it unless the one before ended likewise.
func (k *keys) note(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.failure
	k.tried, k.failure = k.now(), err
	switch {
	case err == nil:
		k.counted.Successes++
		k.counted.LastSuccess = k.tried
		if before != nil {
			k.log.Info("the keys of service accounts can be fetched again", "url", k.url)
		}
	default:
		k.counted.Failures++
		if before == nil || before.Error() != err.Error() {
			k.log.Warn("the keys of service accounts cannot be fetched; the last ones count for an hour", "url", k.url, "error", err)
		}
	}
}

func (k *keys) count() Count {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.counted
}
