package cli

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tiergate/tiergate/internal/config"
)

func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	restore := limitMemory(&config.Serve{MemoryLimit: 300 << 20}, nil)
	assert.EqualValues(t, 300<<20, debug.SetMemoryLimit(-1))
	restore()
	assert.Equal(t, before, debug.SetMemoryLimit(-1))
	limitMemory(&config.Serve{}, nil)()
	limitMemory(&config.Serve{MemoryLimit: 300 << 20}, []string{"GOMEMLIMIT=1GiB"})()
	assert.Equal(t, before, debug.SetMemoryLimit(-1), "whoever set GOMEMLIMIT knows better")
}
