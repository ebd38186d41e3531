package topology

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGridSizes(t *testing.T) {
	for _, test := range []struct {
		name                                   string
		tensor, prefillContext, pipeline, data int64
		replica, world                         int64
	}{
		{"one rank", 1, 1, 1, 1, 1, 1},
		{"all axes", 2, 3, 5, 7, 30, 210},
		{"the most that is judged", 256, 1, 16, 16, 4096, MaxRanks},
		{"no tensor size", 0, 1, 2, 2, 0, 0},
		{"a negative size", 2, 1, -1, 2, 0, 0},
		{"no replicas", 2, 2, 2, 0, 8, 0},
		{"a size below 1 beside huge ones", math.MaxInt64, 0, math.MaxInt64, math.MaxInt64, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			grid, err := NewGrid(test.tensor, test.prefillContext, test.pipeline, test.data)
			require.NoError(t, err)
			assert.Equal(t, test.replica, grid.Replica(), "replica")
			assert.Equal(t, test.world, grid.World(), "world")
		})
	}
}

func TestGridTooLarge(t *testing.T) {
	for _, test := range []struct {
		name                                   string
		tensor, prefillContext, pipeline, data int64
		message                                string
	}{
		{
			"one rank too many", MaxRanks + 1, 1, 1, 1,
			"/engine/parallel: tensor 65537 x prefill_context 1 x pipeline 1 x data 1 is more than the 65536 ranks that are " +
				"judged; check the sizes",
		},
		{
			"a product that overflows", 1 << 31, 1, 1 << 31, 4,
			"/engine/parallel: tensor 2147483648 x prefill_context 1 x pipeline 2147483648 x data 4 is more than the 65536 ranks " +
				"that are judged; check the sizes",
		},
		{
			"a product that wraps around to 0", 1 << 32, 1 << 32, 1, 1,
			"/engine/parallel: tensor 4294967296 x prefill_context 4294967296 x pipeline 1 x data 1 is more than the 65536 ranks " +
				"that are judged; check the sizes",
		},
		{
			"a replica too large, however many there are", MaxRanks, 2, 1, 0,
			"/engine/parallel: tensor 65536 x prefill_context 2 x pipeline 1 x data 0 is more than the 65536 ranks that are " +
				"judged; check the sizes",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := NewGrid(test.tensor, test.prefillContext, test.pipeline, test.data)
			require.EqualError(t, err, test.message)
			var input *InputError
			require.ErrorAs(t, err, &input)
			assert.Equal(t, CodeTooManyRanks, input.Code)
			assert.Equal(t, "/engine/parallel", input.Pointer)
		})
	}
}

// A size that is not known yet is no size: whatever placeholder stands in its field must not count.
func TestGridOfUnresolvedSize(t *testing.T) {
	for _, setting := range []string{SettingTensor, SettingPrefillContext, SettingPipeline} {
		engine := engineOf("mp", 2, 2, 2, 2)
		engine.Unresolved = []Unresolved{{Setting: setting, Reason: "$N is not set"}}
		grid, err := gridOf(engine, StageLaunch)
		require.NoError(t, err)
		assert.Zero(t, grid.Replica(), setting)
		assert.Zero(t, grid.World(), setting)
	}
}

func TestUnresolvedFindsNestedSettings(t *testing.T) {
	engine := &Engine{Unresolved: []Unresolved{
		{Setting: "engine.kv_transfer.kv_connector_extra_config.cpu_bytes_to_use"},
		{Setting: "engine.parallel.data_local"},
	}}
	assert.NotNil(t, engine.unresolved(SettingTransfer), "a part of it is unknown")
	assert.Nil(t, engine.unresolved(SettingData), "data_local is another setting, not a part of data")
	assert.NotNil(t, engine.unresolved(SettingDataLocal))
}
