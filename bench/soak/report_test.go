//go:build linux

package soak

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/bench/storm"
)

// good is an outcome that meets all requirements, just so.
func good() *Outcome {
	phase := func(accepted int, took time.Duration) *Phase {
		p := &Phase{Load: &Tally{Duration: time.Second, Statuses: map[int]int{200: accepted}}, Changes: 4, Seen: 1}
		for range accepted {
			p.Load.Accepted = append(p.Load.Accepted, took)
		}
		return p
	}
	return &Outcome{
		Rounds:     []Round{{phase(200, time.Millisecond), phase(50, 2*time.Millisecond)}},
		Misconduct: &Misconduct{Acts: 1, Statuses: map[int]int{400: 1}},
		Base:       Figures{Goroutines: 10, Descriptors: 10, Heap: 8, Resident: 80}, Reloading: true,
		After: Figures{Goroutines: 20, Descriptors: 15, Heap: 18, Resident: 132},
	}
}

func TestReportFailsForEachRequirement(t *testing.T) {
	for name, worsen := range map[string]func(*Outcome){
		"":                             func(*Outcome) {},
		"requests at capacity":         func(o *Outcome) { o.Rounds[0].Capacity.Load.Wrong = 1 },
		"requests at twice":            func(o *Outcome) { o.Rounds[0].Overload.Load.Lost = 1 },
		"reviews at twice":             func(o *Outcome) { o.Rounds[0].Overload.Reviews = &Tally{Bare: 1} },
		"workers at capacity":          func(o *Outcome) { o.Rounds[0].Capacity.Engines = storm.Figures{Wrong: 1} },
		"workers at twice":             func(o *Outcome) { o.Rounds[0].Overload.Engines = storm.Figures{Lost: 1} },
		"p99 of accepted":              func(o *Outcome) { o.Rounds[0].Overload.Load.Accepted[49] = 3 * time.Millisecond },
		"accepted at twice":            func(o *Outcome) { o.Rounds[0].Overload.Load.Accepted = o.Rounds[0].Overload.Load.Accepted[1:] },
		"policies in force":            func(o *Outcome) { o.Rounds[0].Overload.Seen = 0 },
		"misbehaving clients":          func(o *Outcome) { o.Misconduct.Wrong = 1 },
		"nothing is left":              func(o *Outcome) { o.After.Goroutines++ },
		"log  1 errors: panic":         func(o *Outcome) { o.LoggedErrors = []string{"panic"} },
		"end after SIGTERM  exit stat": func(o *Outcome) { o.Stopped = errors.New("exit status 5") },
	} {
		o := good()
		worsen(o)
		var out strings.Builder
		met, err := o.Report(&out)
		require.NoError(t, err)
		assert.Equal(t, name == "", met, "%s: %s", name, out.String())
		var failed []string
		for line := range strings.Lines(out.String()) {
			if rest, ok := strings.CutPrefix(line, "FAIL"); ok {
				failed = append(failed, strings.Join(strings.Fields(rest), " "))
			}
		}
		if name != "" && assert.Len(t, failed, 1, out.String()) {
			assert.True(t, strings.HasPrefix(failed[0], strings.Join(strings.Fields(name), " ")), failed[0])
		}
	}
}

func TestBackToBase(t *testing.T) {
	base := Figures{Goroutines: 10, Descriptors: 10, Heap: 8, Resident: 80}
	assert.Empty(t, base.back(base))
	for want, now := range map[string]Figures{
		"21 goroutines":   {Goroutines: 21},
		"16 descriptors":  {Descriptors: 16},
		"19 MB of heap":   {Heap: 19},
		"133 MB resident": {Resident: 133},
	} {
		assert.Equal(t, want, base.back(now))
	}
}
