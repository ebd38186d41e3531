// Command storm brings up many engines against one `tiergate serve` over a unix socket, and one very large engine, and
// prints what was lost or wrong, how long admissions took and how much memory the service needed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/tiergate/tiergate/bench/storm"
)

// What is promised.
const (
	maxTail   = time.Second
	maxMemory = 1000.0 // MB
	maxLarge  = 5 * time.Second
)

func main() {
	program := flag.String("tiergate", "bin/tiergate", "the tiergate program")
	engines := flag.Int("engines", 12500, "how many engines of 8 ranks come")
	over := flag.Duration("over", 5*time.Minute, "over how long")
	late := flag.Duration("late", time.Minute, "how long after the first rank of an engine its last one comes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	small := storm.Plan{Shape: storm.Shape{Tensor: 4, Pipeline: 2}, Engines: *engines, Over: *over, Late: *late, SpanEvery: 5, Seed: 1}
	large := storm.Plan{Shape: storm.Shape{Tensor: 8, Pipeline: 512}, Engines: 1, Seed: 2}
	met := true
	for _, plan := range []storm.Plan{small, large} {
		ok, err := run(ctx, *program, plan)
		if err != nil {
			fmt.Fprintln(os.Stderr, "storm:", err)
			os.Exit(1) //nolint:gocritic // the deferred stop has nothing to do at the end of the process
		}
		met = met && ok
	}
	if !met {
		os.Exit(1)
	}
}

func run(ctx context.Context, program string, plan storm.Plan) (bool, error) {
	dir, err := os.MkdirTemp("", "storm")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	plan.Socket = filepath.Join(dir, "s")
	server := exec.CommandContext(ctx, program, "serve", "--addr", "unix://"+plan.Socket, "--log-level", "error")
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		return false, fmt.Errorf("start %s: %w", program, err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	if err := ready(ctx, plan.Socket); err != nil {
		return false, err
	}
	f := storm.Run(ctx, plan)
	peak, err := peakMemory(server.Process.Pid)
	if err != nil {
		return false, err
	}
	return print(plan, f, peak, processorTime(server.Process.Pid)), ctx.Err()
}

// print tells the figures, and whether they are what is promised.
func print(plan storm.Plan, f storm.Figures, peak float64, cpu string) bool {
	met := true
	state := func(ok bool) string {
		if met = met && ok; ok {
			return "met"
		}
		return "NOT met"
	}
	fmt.Printf("%d engines of %d ranks over %s, at most %d waiting; service used %s of processor time\n",
		plan.Engines, plan.Shape.World(), plan.Over, f.MostWaiting, cpu)
	fmt.Printf("  workers answered        %d, wrong %d, lost %d: %s\n", f.Workers, f.Wrong, f.Lost, state(f.Wrong+f.Lost == 0))
	if f.FirstError != nil {
		fmt.Printf("  first error             %v\n", f.FirstError)
	}
	if plan.Engines > 1 {
		fmt.Printf("  last report - admission p50 %.1f ms, p99 %.1f ms, max %.1f ms (p99 <= %s): %s\n",
			ms(f.P50), ms(f.P99), ms(f.Max), maxTail, state(f.P99 <= maxTail))
	} else {
		fmt.Printf("  first report - all admitted %.2f s (<= %s): %s\n", f.FirstToLast.Seconds(), maxLarge, state(f.FirstToLast <= maxLarge))
	}
	fmt.Printf("  memory of the service   %.0f MB at its peak (<= %.0f): %s\n", peak, maxMemory, state(peak <= maxMemory))
	return met
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// ready waits until the service answers.
func ready(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://tiergate/health/ready", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(errors.New("the service did not become ready"), err)
		}
	}
}

// peakMemory is the most that a process ever had resident, in MB.
func peakMemory(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			return kib * 1024 / 1e6, nil
		}
	}
	return 0, errors.New("the kernel tells no VmHWM")
}

// processorTime is what a process used so far, for people.
func processorTime(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "unknown"
	}
	fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
	var user, system int64
	if len(fields) < 13 {
		return "unknown"
	}
	_, _ = fmt.Sscan(fields[11], &user)
	_, _ = fmt.Sscan(fields[12], &system)
	const ticks = 100 // a second, on every Linux that runs this
	return (time.Duration(user+system) * time.Second / ticks).String()
}
