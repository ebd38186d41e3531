// Command start measures how long `tiergate serve` takes until it answers, without and with what it kept of its last start,
// and the memory that it holds while nothing happens.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tiergate/tiergate/bench"
	"github.com/tiergate/tiergate/bench/load"
)

// What is promised.
const (
	maxCold = 400 * time.Millisecond
	maxWarm = 150 * time.Millisecond
	maxIdle = 60.0 // MB
)

func main() {
	program := flag.String("tiergate", "bin/tiergate", "the tiergate program")
	rounds := flag.Int("rounds", 5, "how often each start is measured; the median counts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *program, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "start:", err)
		os.Exit(1) //nolint:gocritic // the deferred stop has nothing to do at the end of the process
	}
}

func run(ctx context.Context, program string, rounds int) error {
	var cold, warm []time.Duration
	var idle []float64
	for range rounds {
		took, resident, err := pair(ctx, program)
		if err != nil {
			return err
		}
		cold, warm, idle = append(cold, took[0]), append(warm, took[1]), append(idle, resident)
	}
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "tiergate serve\tmedian\tallowed\t\t")
	line := func(what, value, allowed string, met bool) {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t\n", what, value, allowed, map[bool]string{true: "met", false: "NOT met"}[met])
	}
	c, w, m := bench.Median(cold), bench.Median(warm), bench.Median(idle)
	line("ready, nothing kept", c.Round(time.Millisecond).String(), maxCold.String(), c <= maxCold)
	line("ready, warm cache", w.Round(time.Millisecond).String(), maxWarm.String(), w <= maxWarm)
	line("resident when idle", fmt.Sprintf("%.0f MB", m), fmt.Sprintf("%.0f MB", maxIdle), m <= maxIdle)
	return t.Flush()
}

// pair starts the program twice on one cache directory that is empty at first, and measures the second one's memory.
func pair(ctx context.Context, program string) (took [2]time.Duration, resident float64, err error) {
	cache, err := os.MkdirTemp("", "cache")
	if err != nil {
		return took, 0, err
	}
	defer os.RemoveAll(cache) //nolint:errcheck // a temporary folder
	for i := range took {
		start := time.Now()
		s, err := load.Start(ctx, program, func(addr string) []string {
			return []string{"serve", "--addr", addr, "--log-level", "error", "--cache-dir", cache}
		})
		if err != nil {
			return took, 0, err
		}
		took[i] = time.Since(start)
		resident, err = residentMB(s.Pid())
		if err = errors.Join(err, s.Stop()); err != nil {
			return took, 0, err
		}
	}
	return took, resident, nil
}

// residentMB reads VmRSS of a process.
func residentMB(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(status), "VmRSS:")
	fields := strings.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, errors.New("the process has no VmRSS")
	}
	kb, err := strconv.ParseFloat(fields[0], 64)
	return kb / 1000, err
}
