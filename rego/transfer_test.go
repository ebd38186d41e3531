package rego_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/vllm"
)

// transferQuery asks both checks of a transfer configuration, as shipped and with every connector and tier looked at
// closely.
const transferQuery = `
	offload := data.tiergate.checks.offload.config.violations
	tiering := data.tiergate.checks.tiering.config.violations
	closely := [data.tiergate.checks.offload.config.violations, data.tiergate.checks.tiering.config.violations]
		with data.tiergate.offload.usual as data.never.usual with data.tiergate.tiers.usual as data.never.usual`

const never = "package never\n\nusual(_) if false"

// TestTransfer goes from kv_transfer, as a user writes it, to violations: what the engine refuses and what the rules
// refuse must make one list without gaps and doubles.
func TestTransfer(t *testing.T) {
	decide := prepare(t, transferQuery, never)
	extra := func(config string) string {
		return `{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":` + config + `}`
	}
	tiers := func(list string) string {
		return extra(`{"spec_name":"TieringOffloadingSpec","cpu_bytes_to_use":1e9,"secondary_tiers":` + list + `}`)
	}
	multi := func(children string) string {
		return `{"kv_connector":"MultiConnector","kv_role":"kv_both",` +
			`"kv_connector_extra_config":{"connectors":` + children + `}}`
	}
	child := "kv_transfer.kv_connector_extra_config.connectors"
	for config, want := range map[string][]string{
		extra(`{"cpu_bytes_to_use":1e9,"blocks_per_chunk":4}`):          nil,
		extra(`{"cpu_bytes_to_use":"1000000000"}`):                      nil,
		extra(`{"spec_name":"Slab","spec_module_path":"slab.spec"}`):    nil,
		tiers(`[{"type":"fs","root_dir":"/mnt/kv"},{"type":"p2p"}]`):    nil,
		`{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}`:     nil,
		multi(`[{"kv_connector":"NixlConnector","kv_role":"kv_both"}]`): nil,
		multi(`[{"kv_connector":"OffloadingConnector"}]`): {
			child + "[0]: cpu_bytes_to_use is not set, CPUOffloadingSpec needs a number of bytes between 1 and 2^63",
			child + "[0]: kv_role is not set, a connector needs one",
		},
		multi(`[{}, 5]`): {
			child + "[0] names no kv_connector",
			child + "[1] is 5: a connector is an object",
		},
		multi(`{"kv_connector":"NixlConnector"}`): {
			child + ` is {"kv_connector":"NixlConnector"}: a MultiConnector needs a list of connectors`,
		},
		`{"kv_connector":5,"kv_role":"kv_both"}`: {"kv_transfer.kv_connector is 5: a connector's name is a text"},
		extra(`5`): {
			"kv_transfer.kv_connector_extra_config is 5: the extra configuration is an object",
		},
		extra(`{"cpu_bytes_to_use":1e30}`): {
			"kv_transfer: cpu_bytes_to_use is 1e30, CPUOffloadingSpec needs a number of bytes between 1 and 2^63",
		},
		extra(`{"cpu_bytes_to_use":0.5}`): {
			"kv_transfer: cpu_bytes_to_use is 0.5, CPUOffloadingSpec needs a number of bytes between 1 and 2^63",
		},
		extra(`{"spec_name":7}`): {
			"kv_transfer: spec_name is 7, which vLLM does not have, and spec_module_path is not set",
		},
		tiers(`"fs"`):         {`kv_transfer: secondary_tiers is "fs", vLLM reads a list of objects`},
		tiers(`[{"type":7}]`): {"kv_transfer: secondary_tiers[0] has type 7, vLLM needs a name"},
	} {
		got := decide(t, facts(t, config))
		assert.Equal(t, want, messages(got["offload"], got["tiering"]), config)
	}
}

// TestTransferProperties puts values of every kind under every key. No rule may fail on one, and what the usual rules
// let pass must be what the rules behind them let pass.
func TestTransferProperties(t *testing.T) {
	decide := prepare(t, transferQuery, never)
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			config := drawObject(t, map[string][]string{
				"kv_connector":              {`"OffloadingConnector"`, `"MultiConnector"`, `"NixlConnector"`},
				"kv_role":                   {`"kv_both"`, `"kv_producer"`},
				"kv_connector_module_path":  {},
				"kv_connector_extra_config": {drawExtra(t), drawExtra(t)},
			})
			got := decide(t, facts(t, config))
			require.Equal(t, got["closely"], []any{got["offload"], got["tiering"]}, config)
		}
	})
}

func drawExtra(t *rapid.T) string {
	tier := drawObject(t, map[string][]string{
		"type": {`"fs"`, `"obj"`, `"kvcr"`, `"tape"`}, "module_path": {`"m"`}, "root_dir": {`"/kv"`},
		"store_config": {`{"bucket":"b"}`}, "control_ports": {`[1]`},
	})
	return drawObject(t, map[string][]string{
		"spec_name": {`"TieringOffloadingSpec"`, `"Slab"`}, "spec_module_path": {`"slab.spec"`},
		"cpu_bytes_to_use": {`1e9`, `4096`}, "block_size": {`64`}, "blocks_per_chunk": {`4`}, "store_threshold": {`1`, `2`},
		"secondary_tiers": {"[" + tier + "]", "[" + tier + "]"}, "connectors": {`[{"kv_connector":"NixlConnector"}]`, `[{}]`},
		"mirror_source": {`"auto"`},
	})
}

// odd are values that no key expects.
var odd = []string{
	`null`, `true`, `false`, `0`, `-1`, `1.5`, `1e30`, `12345678901234567890`, `""`, `"x"`, `[]`, `{}`, `[[]]`,
}

// drawObject draws an object with some of the keys, each with one of its own values or an odd one.
func drawObject(t *rapid.T, keys map[string][]string) string {
	var members []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		values := keys[key]
		switch rapid.IntRange(0, 9).Draw(t, key+" how") {
		case 0:
			values = odd
		case 1, 2, 3:
			continue
		}
		if len(values) > 0 {
			members = append(members, fmt.Sprintf("%q:%s", key, rapid.SampledFrom(values).Draw(t, key)))
		}
	}
	slices.Sort(members)
	return "{" + strings.Join(members, ",") + "}"
}

// facts is what the rules see of a launch with this transfer configuration.
func facts(t require.TestingT, config string) *topology.Facts {
	launch := &v1.Launch{Engine: v1.Engine{KVTransfer: json.RawMessage(config)}}
	engine, err := vllm.Resolve(launch)
	require.NoError(t, err)
	facts, err := topology.Fold(launch, engine, topology.FoldOptions{Stage: topology.StageLaunch})
	require.NoError(t, err)
	return facts
}

func messages(sets ...any) (list []string) {
	for _, set := range sets {
		for _, violation := range set.([]any) {
			list = append(list, violation.(map[string]any)["message"].(string))
		}
	}
	slices.Sort(list)
	return list
}
