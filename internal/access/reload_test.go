package access

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func tokenFile(name, token string) string {
	return "tokens: [{name: " + name + ", sha256: " + hashOf(token) + ", roles: [reader]}]\n"
}

// running runs a guard in a bubble of time; what it returns lets one interval pass.
func running(t *testing.T, file string, log *logged) (guard *Guard, interval func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	guard, err := Open(ctx, Options{File: file, Logger: log.logger()})
	require.NoError(t, err)
	ended := make(chan struct{})
	go func() {
		guard.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return guard, func() {
		time.Sleep(DefaultInterval)
		synctest.Wait()
	}
}

func TestRunReloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		good, other := tokenFile("first", ciToken), tokenFile("second", ciToken)
		file := folder(t, good, nil)
		start := time.Now()
		guard, interval := running(t, file, &log)
		name := func() string { return identified(t, guard, asking("Bearer "+ciToken)).Name }
		says := func(times int, text string) { assert.Equal(t, times, strings.Count(log.String(), text), text) }

		interval()
		assert.Equal(t, State{Reloads: Count{Successes: 1, LastSuccess: start}}, guard.State())
		write(t, file, other)
		interval()
		assert.Equal(t, "token:second", name())
		says(1, "access file reloaded")
		loaded := State{Reloads: Count{Successes: 2, LastSuccess: start.Add(2 * DefaultInterval)}}
		assert.Equal(t, loaded, guard.State())

		write(t, file, "tokens: [{name: third, roles: [chief]}]\n")
		interval()
		interval()
		assert.Equal(t, "token:second", name(), "a bad file replaces none")
		says(1, "the access file cannot be reloaded; what was read before stays in force")
		says(1, `there is no role \"chief\"`)
		loaded.Reloads.Failures = 1
		assert.Equal(t, loaded, guard.State())
		require.NoError(t, os.Remove(file))
		interval()
		loaded.Reloads.Failures = 2
		assert.Equal(t, loaded, guard.State())

		write(t, file, other)
		interval()
		says(1, "the access file is again what is in force")
		assert.Equal(t, loaded, guard.State())
		write(t, file, good)
		interval()
		assert.Equal(t, "token:first", name())
		assert.EqualValues(t, 3, guard.State().Reloads.Successes)
		assert.NotContains(t, log.String(), ciToken)
	})
}

// The files that the access file names count as well.
func TestRunReloadsWhatTheFileNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		file := folder(t, "tokens: [{name: w, file: w.token, roles: [worker]}]\n"+inCluster(vllmAccount),
			map[string]string{"w.token": workerToken, "jwks.json": keySetOf(t, rsaSigner())})
		guard, interval := running(t, file, &log)
		token, jwks := filepath.Join(filepath.Dir(file), "w.token"), filepath.Join(filepath.Dir(file), "jwks.json")
		signed := rsaSigner().token(t, map[string]any{"exp": time.Now().Add(time.Hour).Unix(), "nbf": nil})
		identified(t, guard, asking("Bearer "+signed))

		write(t, token, "another-token-of-worker\n")
		interval()
		identified(t, guard, asking("Bearer another-token-of-worker"))
		refused(t, guard, asking("Bearer "+workerToken))
		write(t, token, "short")
		interval()
		identified(t, guard, asking("Bearer another-token-of-worker"))
		require.NoError(t, os.Remove(token))
		interval()
		assert.EqualValues(t, 2, guard.State().Reloads.Failures)
		write(t, token, workerToken)
		interval()
		identified(t, guard, asking("Bearer "+workerToken))

		write(t, jwks, keySetOf(t, ecSigner(t, "key-2")))
		interval()
		assert.Contains(t, refused(t, guard, asking("Bearer "+signed)), `"key-1", which is none of the keys`, "nor is it remembered")
	})
}

// The keys of a cluster that is out of reach survive a reload, as long as they come from the same place.
func TestReloadKeepsFetchedKeys(t *testing.T) {
	c := newCluster(t, answering(200, keySetOf(t, rsaSigner())))
	token := rsaSigner().token(t, nil)
	c.answers(answering(500, ""))
	file := c.guard.opts.File
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	write(t, file, strings.Replace(string(text), "tenant: a", "tenant: b", 1))
	c.guard.reload()
	assert.Equal(t, "b", identified(t, c.guard, asking("Bearer "+token)).Tenant)
	write(t, file, strings.Replace(string(text), "/openid/v1/jwks", "/elsewhere", 1))
	c.guard.reload()
	_, err = c.guard.Identify(asking("Bearer " + token))
	assert.ErrorContains(t, err, "cannot be fetched")
}
