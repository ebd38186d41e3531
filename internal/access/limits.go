package access

import (
	"math"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/config"
)

// limits are Limits as they stand in a file; what is not given comes from the file's own, and else is no limit.
type limits struct {
	origin
	RequestsPerSecond *float64 `yaml:"requests_per_second"`
	Burst             *int     `yaml:"burst"`
	MaxBody           *string  `yaml:"max_body"`
}

// The bounds keep the time until a bucket has room within what Retry-After can say.
const (
	leastRate = 0.001
	mostRate  = 1_000_000
	mostBurst = 1_000_000
)

// within judges limits and fills in the defaults.
func (l *limits) within(m *mistakes, line int, defaults Limits) Limits {
	out := defaults
	if l.Broken {
		return out
	}
	if l.RequestsPerSecond != nil {
		out.RequestsPerSecond = *l.RequestsPerSecond
		if out.RequestsPerSecond < leastRate || out.RequestsPerSecond > mostRate {
			m.add(line, "requests_per_second is %v; allowed are %v to %v", out.RequestsPerSecond, leastRate, mostRate)
		}
	}
	if l.Burst != nil {
		out.Burst = *l.Burst
		if out.Burst < 1 || out.Burst > mostBurst {
			m.add(line, "burst is %d; allowed are 1 to %d", out.Burst, mostBurst)
		}
		if out.RequestsPerSecond == 0 {
			m.add(line, "burst is how much of requests_per_second may come at once, and that is missing; give both, or leave it out")
		}
	}
	if l.MaxBody != nil {
		var size config.Bytes
		if err := size.UnmarshalText([]byte(*l.MaxBody)); err != nil || size <= 0 {
			m.add(line, "max_body is no size; write bytes or a unit of KiB, MiB or GiB, e.g. 1MiB")
		}
		out.MaxBody = int64(size)
	}
	if out.RequestsPerSecond > 0 && out.Burst == 0 {
		out.Burst = int(math.Ceil(out.RequestsPerSecond))
	}
	return out
}

// maxBuckets is for how many identities requests are counted; those that asked longest ago start anew.
const maxBuckets = 16384

// buckets count the requests of identities. They outlive a reload, since a changed file is no reason to ask more.
type buckets struct {
	mu     sync.Mutex
	byName *lru.Cache[string, *bucket]
}

// bucket holds the requests that may come at once. It fills at the rate of its identity.
type bucket struct {
	left float64
	last time.Time
}

func newBuckets() *buckets {
	cache, _ := lru.New[string, *bucket](maxBuckets) // it only refuses sizes below 1
	return &buckets{byName: cache}
}

// take counts one request, or says when there is room for it.
func (b *buckets) take(i *Identity, now time.Time) error {
	rate, burst := i.Limits.RequestsPerSecond, float64(i.Limits.Burst)
	if rate == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	one, known := b.byName.Get(i.Name)
	if !known {
		one = &bucket{left: burst, last: now}
		b.byName.Add(i.Name, one)
	}
	// Two requests may come here in another order than they looked at the clock.
	if passed := now.Sub(one.last); passed > 0 {
		one.left = min(burst, one.left+rate*passed.Seconds())
		one.last = now
	}
	if one.left < 1 {
		return &Error{
			Code: v1.CodeRateLimited, RetryAfter: time.Duration(math.Ceil((1 - one.left) / rate * float64(time.Second))),
			Detail: i.Name + " asks more often than its limits allow; ask again after Retry-After, or have its limits raised",
		}
	}
	one.left--
	return nil
}
