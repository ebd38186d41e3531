package decisionlog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestMaskHidesSecretsAndNothingElse(t *testing.T) {
	for _, test := range []struct {
		name           string
		command, wants []string
	}{
		{"flag and value", []string{"vllm", "--hf-token", "hunter2", "-tp", "2"}, []string{"vllm", "--hf-token", "MASKED-1", "-tp", "2"}},
		{"flag with =", []string{"--api-key=hunter2", "-tp=2"}, []string{"--api-key=MASKED-1", "-tp=2"}},
		{"several values", []string{"--api-key", "hunter2", "hunter3", "-tp", "2"}, []string{"--api-key", "MASKED-1", "MASKED-2", "-tp", "2"}},
		{"a variable is none", []string{"--api-key", "$KEY", "-tp", "2"}, []string{"--api-key", "$KEY", "-tp", "2"}},
		{
			"names that only look like it",
			[]string{"--max-num-batched-tokens", "8192", "--tokenizer", "x", "--allow-credentials", "-tp", "2"},
			[]string{"--max-num-batched-tokens", "8192", "--tokenizer", "x", "--allow-credentials", "-tp", "2"},
		},
		{
			"script",
			[]string{"bash", "-c", "export HF_TOKEN=hunter2; A=1 vllm serve m --api-key 'hunter2' hunter3 -tp 2 --hf-token $(cat f)"},
			[]string{"bash", "-c", "export HF_TOKEN=MASKED-1; A=1 vllm serve m --api-key 'MASKED-1' hunter3 -tp 2 --hf-token $(cat f)"},
		},
		{
			"several words in a script",
			[]string{"vllm serve m --api-key hunter2 hunter3 -tp 2"},
			[]string{"vllm serve m --api-key MASKED-1 MASKED-2 -tp 2"},
		},
		{"a default", []string{"vllm --hf-token ${HF_TOKEN:-hunter2} -tp 2"}, []string{"vllm --hf-token ${HF_TOKEN:-MASKED-1} -tp 2"}},
		{"header", []string{`--header=Authorization: Bearer hunter2`}, []string{`--header=Authorization: Bearer MASKED-1`}},
		{"URL", []string{"--endpoint", "https://user:hunter2@s3/x"}, []string{"--endpoint", "https://MASKED-1@s3/x"}},
		{
			"JSON",
			[]string{"--kv-transfer-config", `{"n": 68719476736, "secret_key": "hunter2", "auth": {"p": 12345, "q": ["hunter2"]}}`},
			[]string{"--kv-transfer-config", `{"n": 68719476736, "secret_key": "MASKED-1", "auth": {"p": "MASKED-2", "q": ["MASKED-1"]}}`},
		},
		{"broken JSON", []string{`{"secret_key": "hunter2", 'b_token': 'hunter3'`}, []string{`{"secret_key": "MASKED-1", 'b_token': 'MASKED-2'`}},
		{"JSON twice", []string{`"{\"access_key\": \"hunter2\", \"n\": 2}"`}, []string{`"{\"access_key\": \"MASKED-1\", \"n\": 2}"`}},
	} {
		launch := &v1.Launch{Engine: v1.Engine{Command: test.command}}
		before := strings.Join(test.command, "\x00")
		masked, places := Mask(launch)
		assert.Equal(t, test.wants, masked.Engine.Command, test.name)
		assert.Equal(t, before, strings.Join(launch.Engine.Command, "\x00"), "the launch itself is not touched")
		assert.Equal(t, strings.Contains(strings.Join(test.wants, ""), "MASKED"), len(places) > 0, test.name)
	}
}

func TestMaskOfVariablesAndConfigurations(t *testing.T) {
	config := json.RawMessage(`{"kv_connector_extra_config":{"secondary_tiers":[{"type":"obj","secret_key":"hunter2"}]}}`)
	other := json.RawMessage(`{"kv_connector_extra_config":{"secondary_tiers":[{"type":"obj","secret_key":"hunter3"}]}}`)
	launch := &v1.Launch{
		Engine: v1.Engine{Env: map[string]string{"HF_TOKEN": "hunter2", "VLLM_DP_SIZE": "2"}, KVTransfer: config},
		Workers: []v1.Worker{
			{Rank: 0, Config: &v1.Configuration{KVTransfer: config}}, {Rank: 1, Config: &v1.Configuration{KVTransfer: other}}, {Rank: 2},
		},
	}
	masked, places := Mask(launch)
	assert.Equal(t, []string{
		"/input/engine/env/HF_TOKEN", "/input/engine/kv_transfer", "/input/workers/0/config/kv_transfer", "/input/workers/1/config/kv_transfer",
	}, places)
	text, err := json.Marshal(masked)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "hunter")
	assert.Equal(t, "2", masked.Engine.Env["VLLM_DP_SIZE"])
	assert.Equal(t, string(masked.Engine.KVTransfer), string(masked.Workers[0].Config.KVTransfer), "equal secrets stay equal")
	assert.NotEqual(t, string(masked.Workers[0].Config.KVTransfer), string(masked.Workers[1].Config.KVTransfer), "others stay different")
	original, err := json.Marshal(launch)
	require.NoError(t, err)
	assert.Contains(t, string(original), "hunter3")

	plain := &v1.Launch{Engine: v1.Engine{KVTransfer: json.RawMessage(`{"a": 1}`)}, Workers: []v1.Worker{{Rank: 0}}}
	same, places := Mask(plain)
	assert.Same(t, plain, same)
	assert.Empty(t, places)
}

func FuzzMask(f *testing.F) {
	f.Add(`{"secret_key": "x"}`, "--api-key", "bash -c 'A_TOKEN=b c'")
	f.Fuzz(func(t *testing.T, config, flag, script string) {
		launch := &v1.Launch{Engine: v1.Engine{Command: []string{flag, config, script}, KVTransfer: json.RawMessage(config)}}
		masked, _ := Mask(launch)
		if json.Valid([]byte(config)) {
			assert.True(t, json.Valid(masked.Engine.KVTransfer))
		}
	})
}
