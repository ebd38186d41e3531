package v1

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNeedsGate(t *testing.T) {
	one, two := int64(1), int64(2)
	const tiers = `{"kv_connector_extra_config":{"secondary_tiers":[{"type":"fs"}]}}`
	for name, test := range map[string]struct {
		engine Engine
		want   bool
	}{
		"no transfer":              {Engine{Parallel: &Parallel{Tensor: &two}}, false},
		"null transfer":            {Engine{Parallel: &Parallel{Tensor: &two}, KVTransfer: json.RawMessage(`null`)}, false},
		"no tiers":                 {Engine{Parallel: &Parallel{Tensor: &two}, KVTransfer: json.RawMessage(`{"kv_role":"kv_both"}`)}, false},
		"empty tiers":              {Engine{Parallel: &Parallel{Tensor: &two}, KVTransfer: json.RawMessage(`{"secondary_tiers":[]}`)}, false},
		"null tiers":               {Engine{Parallel: &Parallel{Tensor: &two}, KVTransfer: json.RawMessage(`{"secondary_tiers":null}`)}, false},
		"tiers of the wrong type":  {Engine{Parallel: &Parallel{Tensor: &two}, KVTransfer: json.RawMessage(`{"secondary_tiers":"fs"}`)}, true},
		"tiers":                    {Engine{Parallel: &Parallel{Tensor: &two}, KVTransfer: json.RawMessage(tiers)}, true},
		"tiers over stages":        {Engine{Parallel: &Parallel{Pipeline: &two}, KVTransfer: json.RawMessage(tiers)}, true},
		"tiers, one worker":        {Engine{Parallel: &Parallel{Tensor: &one}, KVTransfer: json.RawMessage(tiers)}, false},
		"tiers, replicas of one":   {Engine{Parallel: &Parallel{Data: &two}, KVTransfer: json.RawMessage(tiers)}, false},
		"tiers, unknown sizes":     {Engine{KVTransfer: json.RawMessage(tiers)}, true},
		"tiers of a child":         {Engine{KVTransfer: json.RawMessage(`{"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":[{},` + tiers + `]}}`)}, true},
		"unparsable":               {Engine{KVTransfer: json.RawMessage(`{"kv_role":`)}, true},
		"text for an object":       {Engine{KVTransfer: json.RawMessage(`"{}"`)}, true},
		"plain command":            {Engine{Command: []string{"vllm", "serve", "m", "-tp", "2"}}, false},
		"offloading size":          {Engine{Command: []string{"vllm", "serve", "m", "--kv-offloading-size", "8"}}, false},
		"tiers of a command":       {Engine{Command: []string{"vllm", "--kv-transfer-config", tiers}}, true},
		"tiers behind =":           {Engine{Command: []string{"vllm", "--kv_transfer_config=" + tiers}}, true},
		"transfer without tiers":   {Engine{Command: []string{"vllm", "--kv-transfer-config", `{}`}}, false},
		"value missing":            {Engine{Command: []string{"vllm", "--kv-transfer-config"}}, true},
		"dotted key":               {Engine{Command: []string{"vllm", "--kv-transfer-config.kv_role", "kv_both"}}, true},
		"file of flags":            {Engine{Command: []string{"vllm", "--config", "c.yaml"}}, true},
		"variable":                 {Engine{Command: []string{"vllm", "serve", "m", "$EXTRA"}}, true},
		"fields and offload flags": {Engine{Command: []string{"vllm", "--kv-offloading-size=8"}, KVTransfer: json.RawMessage(tiers)}, true},
	} {
		assert.Equal(t, test.want, NeedsGate(&test.engine), name)
	}
}

// TestConfigurationDigest: formatting of the transfer configuration is no difference, its content is.
func TestConfigurationDigest(t *testing.T) {
	digest := func(transfer string) string {
		d, err := (&Configuration{Executor: "mp", KVTransfer: json.RawMessage(transfer)}).Digest()
		assert.NoError(t, err)
		return d
	}
	assert.Equal(t, digest(`{"a":1}`), digest(`{ "a": 1 }`))
	assert.NotEqual(t, digest(`{"a":1}`), digest(`{"a":2}`))
	_, err := (&Configuration{KVTransfer: json.RawMessage(`{`)}).Digest()
	assert.Error(t, err)
}
