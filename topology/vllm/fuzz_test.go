package vllm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// TestNothingIsExecuted resolves scripts that would leave a file behind if any part of them were run.
func TestNothingIsExecuted(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, text := range []string{
		"vllm serve $(touch touched) -tp 2", "vllm serve m -tp `touch touched`", "vllm serve m > " +
			"touched", "vllm serve <(touch touched)",
		"touch touched; vllm serve m", "vllm serve m --config $(touch touched)", `vllm serve m --kv-transfer-config ` +
			`"$(touch touched)"`,
		"exec vllm serve m &> touched", "vllm serve m | tee touched", "cat > touched <<EOF\nEOF\nvllm serve m",
	} {
		for _, command := range [][]string{{"sh", "-c", text}, {"vllm", "serve", text}, {
			"vllm", "serve", "m", "-tp",
			text,
		}} {
			_, err := Resolve(&v1.Launch{Engine: v1.Engine{Command: command}})
			require.NoError(t, err)
			assert.NoFileExists(t, filepath.Join(dir, "touched"), text)
		}
	}
	require.NoError(t, os.WriteFile("f.yaml", []byte("tensor-parallel-size: 4"), 0o644))
	assert.Zero(t, resolve(t, serve("--config", "f.yaml")).Tensor)
}

// check holds what must be true of every engine, whatever it was made from.
func check(t *testing.T, launch *v1.Launch) {
	t.Helper()
	e, err := Resolve(launch)
	if err != nil {
		var failure *Error
		require.ErrorAs(t, err, &failure)
		require.NotEmpty(t, failure.Code)
		require.True(t, strings.HasPrefix(failure.Pointer, "/engine/"), failure.Pointer)
		return
	}
	for _, u := range e.Unresolved {
		require.True(t, strings.HasPrefix(u.Setting, "engine."), u.Setting)
		require.NotEmpty(t, u.Reason)
	}
	for _, r := range e.Refusals {
		require.Contains(t, []string{checkParallel, checkOffload}, r.Check)
		require.NotEmpty(t, r.Setting)
		require.NotEmpty(t, r.Reason)
		require.NotEmpty(t, r.Fix)
	}
	for _, c := range e.Transfer.Connectors {
		require.True(t, json.Valid(c.Config), "%s", c.Config)
		require.GreaterOrEqual(t, c.CPUBytes, int64(0))
	}
	again, err := Resolve(launch)
	require.NoError(t, err)
	require.Equal(t, e, again)
}

// FuzzResolve reads a text as the lines of an argument list and as a script.
func FuzzResolve(f *testing.F) {
	f.Add("-tp\n2\n--kv-transfer-config\n" + tiered)
	f.Add("--tensor_parallel_size=4\n-n2\n-r\n1\n--headless\n--\n-pp\n2")
	f.Add("--kv-transfer-config.a.b+\nx,y\n--kv-transfer-config.a={\"b\":1}\n--kv-offloading-size\n0.5")
	f.Add("m -tp $TP --nnodes ${N:-2} --kv-transfer-config '" + tiered + "'")
	f.Add("m $(nproc) \"$LATER\" -dp $((TP * 2)) --config f")
	f.Add("m; if [ -f x ]; then vllm serve m -tp 2; fi")
	f.Fuzz(func(t *testing.T, text string) {
		env, later := map[string]string{"TP": "2", "VLLM_DP_SIZE": "2"}, []string{"LATER"}
		lines := strings.Split(text, "\n")
		for _, command := range [][]string{
			slices.Concat([]string{"vllm", "serve", "m"}, lines), {"sh", "-c", "vllm serve " + text}, lines,
		} {
			check(t, &v1.Launch{Engine: v1.Engine{Command: command, Env: env, EnvUnknown: later}})
		}
	})
}

// FuzzTransfer reads a text as a transfer configuration, from a command, from a field and from both.
func FuzzTransfer(f *testing.F) {
	for _, text := range []string{
		tiered, fsTier("1"), offloading(`{"cpu_bytes_to_use":"1_0"}`), `{"kv_connector":"MultiConnector",` +
			`"kv_connector_extra_config":{"connectors":[` + tiered + `,1]}}`,
		`{kv_connector:X}`, `{"a":1,"a":2}`, `{"a":1e400}`, `{"a":80m,"b":1.5k}`, "null", `{"engine_id":"$(POD)",` +
			`"kv_connector":{}}`, `[[[[`, "\xff", `{"kv_connector":"\udbc0\udc00"}`,
	} {
		f.Add(text, "1")
	}
	f.Fuzz(func(t *testing.T, text, size string) {
		check(t, given(text))
		check(t, serve("--kv-transfer-config", text, "--kv-offloading-size", size))
		check(t, serve("--kv-transfer-config."+text, size))
		both := serve("--kv-transfer-config", text)
		both.Engine.KVTransfer = []byte(text)
		check(t, both)
	})
}
