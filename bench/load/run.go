package load

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Plan is a closed load: each connection sends its next request when it has read the last response.
type Plan struct {
	Connections int
	// Warmup is not measured.
	Warmup, Duration time.Duration
}

// grace is how much longer than its plan a run may take before its connections fail.
const grace = 30 * time.Second

// Result is what a server did under load.
type Result struct {
	// Rate is requests per second.
	Rate     float64
	P50, P99 time.Duration
}

// Run measures a server. The first failed request ends it with an error.
func Run(ctx context.Context, r Request, plan Plan) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := time.Now().Add(plan.Warmup)
	end := start.Add(plan.Duration)
	latencies := make([][]time.Duration, plan.Connections)
	errs := make([]error, plan.Connections)
	var running sync.WaitGroup
	for i := range plan.Connections {
		running.Go(func() {
			if latencies[i], errs[i] = repeat(ctx, r, start, end); errs[i] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil {
			return Result{}, fmt.Errorf("load %s%s: %w", r.Addr, r.Path, err)
		}
	}
	return summarize(slices.Concat(latencies...), plan.Duration), nil
}

// repeat sends requests until the end and returns how long those took that were sent after start and answered in
// time.
func repeat(ctx context.Context, r Request, start, end time.Time) ([]time.Duration, error) {
	c, err := dial(ctx, r, end.Add(grace))
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // nothing is left to be sent
	latencies := make([]time.Duration, 0, 1<<16)
	for sent := time.Now(); sent.Before(end); {
		if err := ctx.Err(); err != nil {
			return latencies, err
		}
		if err := c.exchange(nil); err != nil {
			return nil, err
		}
		answered := time.Now()
		if !sent.Before(start) && answered.Before(end) {
			latencies = append(latencies, answered.Sub(sent))
		}
		sent = answered
	}
	return latencies, nil
}

func summarize(latencies []time.Duration, duration time.Duration) Result {
	slices.Sort(latencies)
	return Result{
		Rate: float64(len(latencies)) / duration.Seconds(),
		P50:  percentile(latencies, 50),
		P99:  percentile(latencies, 99),
	}
}

// percentile is the smallest value that at least p percent of the sorted values do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*p+99)/100-1]
}

// Fetch sends one request and returns the body of its response.
func Fetch(ctx context.Context, r Request) ([]byte, error) {
	c, err := dial(ctx, r, time.Now().Add(grace))
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // nothing is left to be sent
	var body []byte
	err = c.exchange(&body)
	return body, err
}
