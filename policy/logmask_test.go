package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
)

func TestLogMaskComesFromTheSettings(t *testing.T) {
	engine, err := policy.New(t.Context(), policy.Options{
		Data: []byte(`{"settings": {"decision_log": {"mask": ["/input/nodes/*/ip"]}}}`),
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"/input/nodes/*/ip"}, engine.LogMask())
	require.NoError(t, engine.Close(t.Context()))
	assert.Empty(t, engine.LogMask())

	_, err = policy.New(t.Context(), policy.Options{Data: []byte(`{"settings": {"decision_log": {"mask": ["nodes"]}}}`)})
	assert.ErrorContains(t, err, `data.settings.decision_log.mask: "nodes" is no pointer below /input or /result`)
}

// A verdict can be made again later: with its own minute it has its own digest.
func TestDecideAsOf(t *testing.T) {
	clock := time.Date(2026, 12, 1, 10, 0, 30, 0, time.UTC)
	engine, err := policy.New(t.Context(), policy.Options{Now: func() time.Time { return clock }})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, engine.Close(t.Context())) })
	two := int64(2)
	launch := &v1.Launch{Engine: v1.Engine{Parallel: &v1.Parallel{Tensor: &two}}}
	first, err := engine.Decide(t.Context(), launch)
	require.NoError(t, err)
	assert.Equal(t, "2026-12-01T10:00:00Z", first.Now)

	clock = clock.Add(time.Hour)
	later, err := engine.Decide(t.Context(), launch)
	require.NoError(t, err)
	assert.NotEqual(t, first.Digest, later.Digest)
	then, err := time.Parse(time.RFC3339, first.Now)
	require.NoError(t, err)
	again, err := engine.DecideAsOf(t.Context(), then, topology.StageLaunch, launch)
	require.NoError(t, err)
	assert.Equal(t, first, again)
}
