package cli

import (
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tiergate/tiergate/internal/config"
	gate "github.com/tiergate/tiergate/runtime"
)

const (
	// defaultMemory is the goal without a memory limit to go by: 10,000 waiting workers fit, and all stays below 1 GB.
	defaultMemory = 800 << 20
	// leastMemory is about what the service takes when it has nothing to do.
	leastMemory = 64 << 20
)

// limitMemory tells the collector how much the process should hold at most, so that it works harder near that instead of
// letting the heap double. Under load the goal may be missed; nothing is refused because of it. An own GOMEMLIMIT wins.
func limitMemory(serve *config.Serve, env []string) (restore func()) {
	if slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "GOMEMLIMIT=") }) {
		return func() {}
	}
	goal := int64(serve.MemoryLimit)
	if goal == 0 {
		goal = defaultMemory
		if facts := gate.Facts(env); facts.Memory != nil && facts.Memory.LimitBytes != nil {
			// What is not Go's own, such as compiled policies and the kernel's socket buffers, needs room too.
			goal = max(*facts.Memory.LimitBytes*8/10, leastMemory)
		}
	}
	before := debug.SetMemoryLimit(goal)
	return func() { debug.SetMemoryLimit(before) }
}
