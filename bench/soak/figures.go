//go:build linux

package soak

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Figures are what the service holds at a moment.
type Figures struct {
	Goroutines, Descriptors int
	// Heap is in use after a collection, Resident what the kernel counts. MB.
	Heap, Resident float64
}

// Figures collects, if the service lets that be asked for, and reads what is held.
func (s *Service) Figures(ctx context.Context) (f Figures, err error) {
	if _, _, err := s.get(ctx, "/debug/pprof/heap?gc=1"); err != nil {
		return f, err
	}
	_, metrics, err := s.get(ctx, "/metrics")
	if err != nil {
		return f, err
	}
	pid := s.command.Process.Pid
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return f, err
	}
	resident, residentErr := residentMB(pid)
	f = Figures{
		Goroutines: int(metric(metrics, "go_goroutines")), Descriptors: len(open),
		Heap: metric(metrics, "go_memstats_heap_alloc_bytes") / 1e6, Resident: resident,
	}
	if f.Goroutines == 0 {
		return f, errors.New("the metrics have no go_goroutines")
	}
	return f, residentErr
}

// metric is the value of a metric without labels; 0 if it is not there.
func metric(text []byte, name string) float64 {
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		if value, ok := strings.CutPrefix(in.Text(), name+" "); ok {
			number, _ := strconv.ParseFloat(value, 64)
			return number
		}
	}
	return 0
}

func residentMB(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
			return kib * 1024 / 1e6, nil
		}
	}
	return 0, errors.New("the process has no VmRSS")
}

// times are how long the service's threads had a processor since its start, and waited for one.
func (s *Service) times() (used, waited time.Duration) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.command.Process.Pid))
	for _, name := range tasks {
		text, _ := os.ReadFile(name) // a thread may have ended
		var ran, delayed int64
		_, _ = fmt.Sscan(string(text), &ran, &delayed)
		used, waited = used+time.Duration(ran), waited+time.Duration(delayed)
	}
	return used, waited
}

// fairTime is how often the rate is looked at.
const fairTime = 500 * time.Millisecond

// fairly is a rate for a service that gets all the processor time that it asks for, lowered to the share that it gets at the
// moment: on a machine with other things to do twice the load is still twice what the service could answer.
func (s *Service) fairly(full float64) func() float64 {
	at, rate := time.Now(), full
	used, waited := s.times()
	return func() float64 {
		if time.Since(at) > fairTime {
			nowUsed, nowWaited := s.times()
			rate = full * (1 - stolen(nowUsed-used, nowWaited-waited))
			at, used, waited = time.Now(), nowUsed, nowWaited
		}
		return rate
	}
}

// stolen is the share of the processor time asked for that was not given.
func stolen(used, waited time.Duration) float64 {
	if used+waited <= 0 {
		return 0
	}
	return waited.Seconds() / (used + waited).Seconds()
}

// threads are those of this process.
func threads() (ids []int) {
	entries, _ := os.ReadDir("/proc/self/task")
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
