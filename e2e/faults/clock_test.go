package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// jumpIn is when the wall clock jumps, counted from the start of a cell: after all have come to their step, and early
// enough before the end of the phase.
const jumpIn = 2 * time.Second

// jumping is a file of Go's package time that has the wall clock of a process jump at a time of the monotonic clock.
const jumping = `package time

import "syscall"

var jumpAt, jumpBy = jumpFrom("TIERGATE_TEST_JUMP_AT"), jumpFrom("TIERGATE_TEST_JUMP_BY")

func jumpFrom(variable string) (n int64) {
	text, _ := syscall.Getenv(variable)
	sign := int64(1)
	for _, c := range []byte(text) {
		if c == '-' {
			sign = -1
			continue
		}
		n = 10*n + int64(c-'0')
	}
	return sign * n
}

func jumped(mono int64) int64 {
	if jumpAt == 0 || mono < jumpAt {
		return 0
	}
	return jumpBy
}
`

// jumpingOverlay is a file for "go build -overlay" that puts jumping into what is built.
func jumpingOverlay(t *testing.T) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	file := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	before, after, found := strings.Cut(string(text), now)
	require.True(t, found, "time.Now is made another way now")
	dir := t.TempDir()
	replace := map[string]string{}
	for name, text := range map[string]string{"time.go": before + now + "\tsec += jumped(mono)\n" + after, "jumping.go": jumping} {
		replacement := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(replacement, []byte(text), 0o600))
		replace[filepath.Join(filepath.Dir(file), name)] = replacement
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, list, 0o600))
	return overlay
}

// jumpEnv is the environment of a process whose wall clock jumps, and when it does.
func jumpEnv(by time.Duration) ([]string, time.Time) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // the kernel always has that clock
	}
	env := append(os.Environ(), fmt.Sprintf("TIERGATE_TEST_JUMP_AT=%d", now.Nano()+jumpIn.Nanoseconds()),
		fmt.Sprintf("TIERGATE_TEST_JUMP_BY=%d", int64(by.Seconds())))
	return env, time.Now().Add(jumpIn)
}

// TestClockJumps has the wall clock jump by a day while ranks are at each step: that of all ranks, of the service, or of
// all together while a rank dies. Everybody waits by the monotonic clock, so that it changes nothing, but that a store may
// take its records for expired after a jump forward. Ranks then report again, which a dead one does not.
func TestClockJumps(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the service anew, with another package time")
	}
	s := newSite(t)
	overlay := jumpingOverlay(t)
	service, err := build("build", "jumping-tiergate", "../../cmd/tiergate", "-overlay", overlay)
	require.NoError(t, err)
	ranks, err := build("test", "jumping-worker", ".", "-c", "-overlay", overlay)
	require.NoError(t, err)
	for direction, by := range map[string]time.Duration{"forward": 24 * time.Hour, "back": -24 * time.Hour} {
		for who, f := range map[string]fault{
			"ranks":              {others: always(admitted), victim: always(admitted)},
			"service":            {others: always(admitted), victim: always(admitted)},
			"all, a rank killed": {others: expiring(by), victim: always(dead)},
		} {
			for world := range worlds {
				for i, at := range steps {
					t.Run(fmt.Sprintf("%s/%s/%s/%d", who, direction, at.message, world), func(t *testing.T) {
						t.Parallel()
						c := s.cell(t, engineName(t), world, at, at.victim(world))
						var when time.Time
						f := f
						f.prepare = func(t testing.TB, c *cell) {
							ownHost(t, c)
							var env []string
							env, when = jumpEnv(by)
							if who != "service" {
								c.program, c.env = ranks, env
							}
							if who != "ranks" {
								c.service = c.serve(t, service, env)
								c.url = c.service.url
							}
						}
						f.harm = func(ctx context.Context, t testing.TB, c *cell) {
							if f.victim[i] == dead {
								kill(ctx, t, c)
							}
							time.Sleep(time.Until(when))
						}
						s.run(t, c, f, i, "")
					})
				}
			}
		}
	}
}

// expiring is what ranks come to without a dead one if its report and its answers may have expired with their attempt.
func expiring(by time.Duration) [len(steps)]fate {
	fates := without
	for i := range fates {
		if by > 0 && (fates[i] == unanswered || steps[i].message == "answers sent") {
			fates[i] = missed
		}
	}
	return fates
}
