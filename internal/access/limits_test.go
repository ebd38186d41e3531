package access

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guard := open(t, "limits: {requests_per_second: 2, burst: 3}\n"+tokenFile("ci", ciToken)+
			"certificates: [{subject: x, roles: [reader], limits: {requests_per_second: 0.25}}]\n", nil)
		ci := identified(t, guard, asking("Bearer "+ciToken))
		refusal := func(wait time.Duration) *Error {
			return &Error{
				Code: v1.CodeRateLimited, RetryAfter: wait,
				Detail: "token:ci asks more often than its limits allow; ask again after Retry-After, or have its limits raised",
			}
		}
		for range 3 {
			require.NoError(t, guard.Take(ci))
		}
		assert.Equal(t, refusal(500*time.Millisecond), guard.Take(ci))
		assert.Equal(t, refusal(500*time.Millisecond), guard.Take(ci), "who is refused pays nothing")
		time.Sleep(400 * time.Millisecond)
		assert.Equal(t, refusal(100*time.Millisecond), guard.Take(ci))
		time.Sleep(100 * time.Millisecond)
		require.NoError(t, guard.Take(ci))
		assert.Error(t, guard.Take(ci))
		other := *ci
		other.Name = "token:other"
		require.NoError(t, guard.Take(&other), "identities do not share")
		time.Sleep(time.Hour)
		for range 3 {
			require.NoError(t, guard.Take(ci))
		}
		assert.Error(t, guard.Take(ci), "a bucket holds no more than the burst")

		for range 1000 {
			require.NoError(t, guard.Take(Anonymous()), "without limits of its own nobody is counted")
		}
		assert.LessOrEqual(t, guard.buckets.byName.Len(), 2)
	})
}

// Limits that a reload changes hold at once, and a reload is no reason to ask more.
func TestTakeAfterAReload(t *testing.T) {
	guard := open(t, "limits: {requests_per_second: 1, burst: 2}\n"+tokenFile("ci", ciToken), nil)
	now := time.Now()
	guard.now = func() time.Time { return now }
	ci := identified(t, guard, asking("Bearer "+ciToken))
	require.NoError(t, guard.Take(ci))
	require.NoError(t, guard.Take(ci))
	write(t, guard.opts.File, "limits: {requests_per_second: 10, burst: 2}\n"+tokenFile("ci", ciToken))
	guard.reload()
	ci = identified(t, guard, asking("Bearer "+ciToken))
	var e *Error
	require.ErrorAs(t, guard.Take(ci), &e)
	assert.Equal(t, 100*time.Millisecond, e.RetryAfter)
}

// Whatever happens, an identity gets no more than its burst and what its rate gives in the time, and whoever waits as told gets in.
func TestTakeNeverGivesMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate, burst := rapid.Float64Range(leastRate, 1000).Draw(t, "rate"), rapid.IntRange(1, 50).Draw(t, "burst")
		who := &Identity{Name: "x", Limits: Limits{RequestsPerSecond: rate, Burst: burst}}
		buckets, start, taken := newBuckets(), time.Unix(1e9, 0), 0
		now := start
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.Int64Range(0, 2e9).Draw(t, "passes")))
			err := buckets.take(who, now)
			if err != nil {
				now = now.Add(err.(*Error).RetryAfter + time.Microsecond)
				err = buckets.take(who, now)
			}
			require.NoError(t, err)
			taken++
		}
		require.LessOrEqual(t, float64(taken), float64(burst)+rate*now.Sub(start).Seconds()+0.01)
		before := *buckets.byName.Values()[0]
		_ = buckets.take(who, now.Add(-time.Hour))
		_ = buckets.take(who, now)
		require.LessOrEqual(t, buckets.byName.Values()[0].left, before.left, "a clock that goes back gives nothing")
	})
}

func TestBucketsAreBounded(t *testing.T) {
	buckets := newBuckets()
	for i := range maxBuckets + 100 {
		who := &Identity{Name: fmt.Sprint(i), Limits: Limits{RequestsPerSecond: 1, Burst: 1}}
		require.NoError(t, buckets.take(who, time.Unix(0, 0)))
	}
	assert.Equal(t, maxBuckets, buckets.byName.Len())
}
