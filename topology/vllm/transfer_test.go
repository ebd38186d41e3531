package vllm

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

const tiered = `{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":` +
	`{"spec_name":"TieringOffloadingSpec","cpu_bytes_to_use":1024,"secondary_tiers":[{"type":"fs","root_dir":"/x"}]}}`

// given is a launch with a kv_transfer field.
func given(transfer string) *v1.Launch {
	return &v1.Launch{Engine: v1.Engine{KVTransfer: json.RawMessage(transfer)}}
}

// offloading is a transfer configuration with this extra configuration.
func offloading(extra string) string {
	return `{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":` + extra + `}`
}

func TestConnectors(t *testing.T) {
	for name, tt := range map[string]struct{ transfer, want string }{
		"none":              {`null`, ""},
		"an empty one":      {`{}`, ""},
		"another connector": {`{"kv_connector":"NixlConnector","kv_role":"kv_both"}`, "NixlConnector"},
		"the default spec":  {offloading(`{"cpu_bytes_to_use":10}`), "OffloadingConnector/CPUOffloadingSpec*(10)"},
		"the tiered spec":   {tiered, "OffloadingConnector/TieringOffloadingSpec*+(1024)"},
		"our own spec": {offloading(`{"spec_name":"GuardedTieringOffloadingSpec",` +
			`"spec_module_path":"tiergate.vllm"}`), "OffloadingConnector/GuardedTieringOffloadingSpec*"},
		"ours from elsewhere": {offloading(`{"spec_name":"GuardedTieringOffloadingSpec",` +
			`"spec_module_path":"x"}`), "OffloadingConnector/GuardedTieringOffloadingSpec"},
		"a spec from a module": {offloading(`{"spec_name":"S","spec_module_path":"m"}`), "OffloadingConnector/S"},
		"an own one keeps its own": {offloading(`{"spec_name":"CPUOffloadingSpec",` +
			`"spec_module_path":"m"}`), "OffloadingConnector/CPUOffloadingSpec*"},
		"a connector from a module": {`{"kv_connector":"OffloadingConnector",` +
			`"kv_connector_module_path":"m"}`, "OffloadingConnector/CPUOffloadingSpec"},
		"an odd spec":             {offloading(`{"spec_name":5}`), "OffloadingConnector/5"},
		"no spec at all":          {offloading(`{"spec_name":null}`), "OffloadingConnector/null"},
		"no tiers":                {offloading(`{"secondary_tiers":[]}`), "OffloadingConnector/CPUOffloadingSpec*"},
		"null tiers":              {offloading(`{"secondary_tiers":null}`), "OffloadingConnector/CPUOffloadingSpec*"},
		"odd tiers are tiers":     {offloading(`{"secondary_tiers":{}}`), "OffloadingConnector/CPUOffloadingSpec*+"},
		"false tiers are tiers":   {offloading(`{"secondary_tiers":false}`), "OffloadingConnector/CPUOffloadingSpec*+"},
		"tiers of any connector":  {`{"kv_connector":"X","kv_connector_extra_config":{"secondary_tiers":[1]}}`, "X+"},
		"tiers without connector": {`{"kv_connector_extra_config":{"secondary_tiers":[1]}}`, "+"},
		"bytes with a fraction": {
			offloading(`{"cpu_bytes_to_use":1.5e3}`),
			"OffloadingConnector/CPUOffloadingSpec*(1500)",
		},
		"bytes as text": {offloading(`{"cpu_bytes_to_use":" 1_000 ` +
			`"}`), "OffloadingConnector/CPUOffloadingSpec*(1000)"},
		"text with a fraction": {offloading(`{"cpu_bytes_to_use":"1.5"}`), "OffloadingConnector/CPUOffloadingSpec*"},
		"bytes that are true":  {offloading(`{"cpu_bytes_to_use":true}`), "OffloadingConnector/CPUOffloadingSpec*"},
		"negative bytes":       {offloading(`{"cpu_bytes_to_use":-1}`), "OffloadingConnector/CPUOffloadingSpec*"},
		"bytes beyond 64 bits": {
			offloading(`{"cpu_bytes_to_use":1e30}`),
			"OffloadingConnector/CPUOffloadingSpec*(9223372036854775807)",
		},
		"reserved characters": {`{"kv_connector":"X\udbc0\udc00","engine_id":7}`, "X\U00100000"},
		"children": {
			`{"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":[{` +
				`"kv_connector":"NixlConnector"},` + tiered + `]}}`,
			"MultiConnector NixlConnector OffloadingConnector/TieringOffloadingSpec*+(1024)",
		},
		"children of children": {
			`{"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":[` +
				`{"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":[` + tiered + `]}}]}}`,
			"MultiConnector MultiConnector OffloadingConnector/TieringOffloadingSpec*+(1024)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := resolve(t, given(tt.transfer))
			assert.Equal(t, tt.want, summary(e))
			assert.Equal(t, tt.transfer != "null", e.Transfer.Given)
			if strings.HasPrefix(tt.transfer, "{") {
				assert.Equal(t, tt.want, summary(resolve(t, serve("--kv-transfer-config", tt.transfer))),
					"from a command")
			}
		})
	}
}

func TestConnectorPathsAndConfig(t *testing.T) {
	e := resolve(t, given(`{"kv_role":"kv_both","kv_connector":"MultiConnector","kv_connector_extra_config":{`+
		`"connectors":[`+
		`{"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":[{"kv_connector":"A","b":[2,1],`+
		`"a":1.50}]}},7]}}`))
	var got []string
	for _, c := range e.Transfer.Connectors {
		got = append(got, c.Path+" "+string(c.Config))
	}
	assert.Equal(t, []string{
		`kv_transfer ` +
			`{"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":[{` +
			`"kv_connector":"MultiConnector",` +
			`"kv_connector_extra_config":{"connectors":[{"a":1.50,"b":[2,1],"kv_connector":"A"}]}},7]},` +
			`"kv_role":"kv_both"}`,
		`kv_transfer.kv_connector_extra_config.connectors[0] ` +
			`{"kv_connector":"MultiConnector","kv_connector_extra_config":` +
			`{"connectors":[{"a":1.50,"b":[2,1],"kv_connector":"A"}]}}`,
		`kv_transfer.kv_connector_extra_config.connectors[0].kv_connector_extra_config.connectors[0] ` +
			`{"a":1.50,"b":[2,1],"kv_connector":"A"}`,
		`kv_transfer.kv_connector_extra_config.connectors[1] 7`,
	}, got)
}

func TestCredentialsAreMasked(t *testing.T) {
	const secret = "hunter2"
	for _, key := range []string{
		"access_key", "secret_key", "session_token", "password", "Password", "auth_token", "api-key",
		"client_secret", "hf_token",
	} {
		t.Run(key, func(t *testing.T) {
			transfer := offloading(`{"secondary_tiers":[{"type":"obj","store_config":{` +
				`"` + key + `":"` + secret + `","bucket":"b"}}]}`)
			config := string(resolve(t, given(transfer)).Transfer.Connectors[0].Config)
			assert.Contains(t, config, `"bucket":"b"`)
			assert.Contains(t, config, `"`+key+`":"***"`)
			assert.NotContains(t, config, secret)

			broken := resolve(t, serve("--kv-transfer-config", transfer+"}"))
			assert.NotContains(t, summary(broken), secret)

			other := serve("--kv-transfer-config", strings.Replace(transfer, secret, "other", 1))
			other.Engine.KVTransfer = json.RawMessage(transfer)
			_, err := Resolve(other)
			require.Error(t, err)
			assert.NotContains(t, err.Error(), secret)
			assert.NotContains(t, err.Error(), "other")
		})
	}
	kept := resolve(t, given(offloading(`{"tokens_per_block":16,"tokenizer":"x"}`)))
	assert.Contains(t, string(kept.Transfer.Connectors[0].Config), `"tokenizer":"x","tokens_per_block":16`)
}

func TestOffloadingSizeMerges(t *testing.T) {
	for name, tt := range map[string]struct {
		args    []string
		env     map[string]string
		version string
		want    string
	}{
		"alone": {
			[]string{"--kv-offloading-size", "2"},
			nil, "",
			"OffloadingConnector/CPUOffloadingSpec*(2147483648)",
		},
		"a fraction": {
			[]string{"--kv-offloading-size", "0.5"},
			nil, "",
			"OffloadingConnector/CPUOffloadingSpec*(536870912)",
		},
		"nothing": {[]string{"--kv-offloading-size", "0"}, nil, "", "OffloadingConnector/CPUOffloadingSpec*"},
		"less than nothing": {
			[]string{"--kv-offloading-size", "-1"},
			nil, "",
			"OffloadingConnector/CPUOffloadingSpec*",
		},
		"with tiers": {
			[]string{"--kv-offloading-size", "1", "--kv-transfer-config", `{"kv_connector_extra_config":{` +
				`"spec_name":"TieringOffloadingSpec","secondary_tiers":[{}]}}`},
			nil, "", "OffloadingConnector/TieringOffloadingSpec*+(1073741824)",
		},
		"over a connector": {
			[]string{"--kv-offloading-size", "1", "--kv-transfer-config", `{"kv_connector":"X",` +
				`"kv_role":"y"}`},
			nil, "",
			"OffloadingConnector/CPUOffloadingSpec*(1073741824)",
		},
		"over bytes": {
			[]string{"--kv-offloading-size", "1", "--kv-transfer-config", tiered},
			nil, "",
			"OffloadingConnector/TieringOffloadingSpec*+(1073741824)",
		},
		"the simple one": {
			[]string{"--kv-offloading-size", "1"},
			map[string]string{"VLLM_USE_SIMPLE_KV_OFFLOAD": "1"},
			"", "SimpleCPUOffloadConnector(1073741824)",
		},
		"not the simple one": {
			[]string{"--kv-offloading-size", "1"},
			map[string]string{"VLLM_USE_SIMPLE_KV_OFFLOAD": "0"},
			"",
			"OffloadingConnector/CPUOffloadingSpec*(1073741824)",
		},
		"lmcache": {
			[]string{"--kv-offloading-size", "1", "--kv-offloading-backend", "lmcache"},
			nil, "",
			"LMCacheMPConnector",
		},
		"lmcache of old": {
			[]string{"--kv-offloading-size", "1", "--kv-offloading-backend", "lmcache"},
			nil, "0.22.1",
			"LMCacheConnectorV1",
		},
		"lmcache keeps tiers": {[]string{
			"--kv-offloading-size", "1", "--kv-offloading-backend=lmcache",
			"--kv-transfer-config", tiered,
		}, nil, "v0.23.0", "LMCacheMPConnector+(1024)"},
		"a backend alone": {[]string{"--kv-offloading-backend", "lmcache"}, nil, "", ""},
		"an odd variable": {
			[]string{"--kv-offloading-size", "1"},
			map[string]string{"VLLM_USE_SIMPLE_KV_OFFLOAD": "yes"},
			"",
			"\nunresolved engine.kv_transfer: the value of VLLM_USE_SIMPLE_KV_OFFLOAD cannot be read\nrefused by " +
				"offload.config: " +
				"VLLM_USE_SIMPLE_KV_OFFLOAD yes: the variable is not a number; set VLLM_USE_SIMPLE_KV_OFFLOAD to a " +
				"whole number or remove it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			launch := serve(tt.args...)
			launch.Engine.Env, launch.Engine.Version = tt.env, tt.version
			assert.Equal(t, tt.want, summary(resolve(t, launch)))
		})
	}
	e := resolve(t, serve("--kv-offloading-size", "200", "--kv-transfer-config", `{"engine_id":"e",`+
		`"kv_connector_extra_config":{"block_size":64}}`))
	assert.JSONEq(t, `{"engine_id":"e","kv_connector":"OffloadingConnector","kv_role":"kv_both",`+
		`"kv_connector_extra_config":{"block_size":64,`+
		`"cpu_bytes_to_use":214748364800}}`, string(e.Transfer.Connectors[0].Config))
	assert.Equal(t, "e", e.ID)
}

func TestDottedTransfer(t *testing.T) {
	for args, want := range map[string]string{
		"--kv-transfer-config.kv_connector X":                      `{"kv_connector":"X"}`,
		"--kv_transfer_config.kv_connector=X":                      `{"kv_connector":"X"}`,
		"--kv-t.kv_connector X":                                    `{"kv_connector":"X"}`,
		"--kv-transfer-config.a.b 1 --kv-transfer-config.a.c=true": `{"a":{"b":1,"c":true}}`,
		"--kv-transfer-config.a.b_c 10g --kv-transfer-config.a.d 2K": `{"a":{"b_c":10000000000,` +
			`"d":2048}}`,
		"--kv-transfer-config.a+ x --kv-transfer-config.a+=y,z":                         `{"a":["x","y","z"]}`,
		`--kv-transfer-config.a [{"b":1}] --kv-transfer-config.a [2]`:                   `{"a":[{"b":1},2]}`,
		`--kv-transfer-config.a {"b":1,"c":2} --kv-transfer-config.a {"b":3}`:           `{"a":{"b":3,"c":2}}`,
		`--kv-transfer-config.a {"b":1} --kv-transfer-config.a 5`:                       `{"a":5}`,
		`--kv-transfer-config.a -1 -tp 2`:                                               `{"a":-1}`,
		`--kv-transfer-config.a.b x --kv-transfer-config {"kv_connector":"Y"}`:          `{"a":{"b":"x"}}`,
		`--kv-transfer-config {"kv_connector":"Y"} --kv-transfer-config.kv_connector X`: `{"kv_connector":"X"}`,
		`--kv-transfer-config.a 1 --kv-tr.b 2 --kv-transfer-config.c 3`:                 `{"b":2}`,
		`--kv-transfer-config.a= -tp 2`:                                                 `{"a":""}`,
	} {
		t.Run(args, func(t *testing.T) {
			e := resolve(t, serve(strings.Fields(args)...))
			assert.Empty(t, e.Refusals)
			require.Len(t, e.Transfer.Connectors, 1)
			assert.JSONEq(t, want, string(e.Transfer.Connectors[0].Config))
		})
	}
}

func TestUnitsInJSON(t *testing.T) {
	args := []string{"--kv-transfer-config", offloading(`{"cpu_bytes_to_use": 1.5k, "x": "10G", "y": 4G}`)}
	e := resolve(t, serve(args...))
	assert.JSONEq(t, offloading(`{"cpu_bytes_to_use":1500,"x":"10G",`+
		`"y":4294967296}`), string(e.Transfer.Connectors[0].Config))
	old := serve(args...)
	old.Engine.Version = "0.17.0"
	require.Len(t, resolve(t, old).Refusals, 1)
}

func TestUnreadableTransfer(t *testing.T) {
	const unreadable = "\nunresolved engine.kv_transfer: its value cannot be read\nrefused by offload.config: " +
		"--kv-transfer-config "
	deep := strings.Repeat("[", 20000)
	for name, tt := range map[string]struct{ transfer, want string }{
		"quotes lost": {`{kv_connector:X}`, "{kv_connector:X}: not JSON: invalid character 'k' at start of value, at " +
			"byte 1; " +
			"give the keys and texts their double quotes back; a shell takes them away unless the whole value is in " +
			"single quotes"},
		"quotes kept": {`'{"kv_connector":"X"}'`, `'{"kv_connector":"X"}': not JSON: invalid character '\'' at start ` +
			`of value, at byte 0; ` +
			"take the outer quotes away: without a shell they are part of the value"},
		"escapes kept": {`{\"kv_connector\":\"X\"}`, `{\"kv_connector\":\"X\"}: not JSON: invalid character '\\' at ` +
			`start of value, at byte 1; ` +
			"take the backslashes away: they are part of the value here"},
		"cut off": {`{"kv_connector":"X"`, `{"kv_connector":"X": not JSON: unexpected EOF, at byte 19; write one ` +
			`JSON object with each key once, in single quotes where a shell reads it`},
		"a key twice": {`{"a":1,"a":2}`, `{"a":1,"a":2}: the key "a" is given twice, at byte 12; ` +
			"write one JSON object with each key once, in single quotes where a shell reads it"},
		"two values": {`{} {}`, "{} {}: more text after the value, at byte 4; write one JSON object with each key " +
			"once, in single quotes where a shell reads it"},
		"a list": {`["a"]`, `["a"]: not an object; write one JSON object with each key once, in single quotes ` +
			`where a shell reads it`},
		"null": {`null`, `null: not an object; write one JSON object with each key once, in single quotes ` +
			`where a shell reads it`},
		"a path": {`/etc/kv.json`, "/etc/kv.json: not JSON: invalid character '/' at start of value, at byte 0; " +
			"write one JSON object with each key once, in single quotes where a shell reads it"},
		"huge number": {`{"a":1e999}`, `{"a":1e999}: the number 1e999 is out of range, at byte 10; write one JSON ` +
			`object with each key once, in single quotes where a shell reads it`},
		"long number": {`{"a":` + strings.Repeat("1", 50) + `}`, `{"a":` + strings.Repeat("1", 50) + `}: the number ` +
			strings.Repeat("1", 50) +
			" is out of range, at byte 55; write one JSON object with each key once, in single quotes where a shell " +
			"reads it"},
		"too deep": {deep, strings.Repeat("[", 60) + "...: not JSON: exceeded max depth, at byte 10000; write one " +
			"JSON object with each key once, in single quotes where a shell reads it"},
	} {
		t.Run(name, func(t *testing.T) {
			e := resolve(t, serve("--kv-transfer-config", tt.transfer))
			assert.Equal(t, unreadable+tt.want, summary(e))
			assert.True(t, e.Transfer.Given)
		})
	}
	e := resolve(t, given("{\"a\":\"\xff\"}"))
	assert.Equal(t, "\nunresolved engine.kv_transfer: its value cannot be read\nrefused by offload.config: "+
		"engine.kv_transfer {\"a\":\"\uFFFD\"}: "+
		"not JSON: invalid UTF-8, at byte 6; write one JSON object with each key once, in single quotes where a "+
		"shell reads it", summary(e))
}

func TestRefusedKeys(t *testing.T) {
	for transfer, want := range map[string]string{
		`{"kv_connector":["X"]}`: `refused by offload.config: kv_transfer.kv_connector ["X"]: a connector's name is ` +
			`a text; ` +
			"correct kv_transfer.kv_connector or remove it",
		`{"kv_connector":"X","kv_connector_extra_config":null}`: "refused by offload.config: " +
			"kv_transfer.kv_connector_extra_config null: " +
			"the extra configuration is an object; correct kv_transfer.kv_connector_extra_config or remove it",
		`{"kv_connector":"MultiConnector"}`: "refused by offload.config: " +
			"kv_transfer.kv_connector_extra_config.connectors absent: " +
			"a MultiConnector needs a list of connectors; correct kv_transfer.kv_connector_extra_config.connectors " +
			"or remove it",
		`{"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":{"a":1}}}`: "refused by " +
			"offload.config: " +
			`kv_transfer.kv_connector_extra_config.connectors {"a":1}: a MultiConnector needs a list of connectors; ` +
			"correct kv_transfer.kv_connector_extra_config.connectors or remove it",
		`{"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":["x"]}}`: "refused by " +
			"offload.config: " +
			`kv_transfer.kv_connector_extra_config.connectors[0] "x": a connector is an object; ` +
			"correct kv_transfer.kv_connector_extra_config.connectors[0] or remove it",
	} {
		t.Run(transfer, func(t *testing.T) {
			lines := strings.Split(summary(resolve(t, given(transfer))), "\n")
			assert.Equal(t, want, lines[len(lines)-1])
			assert.Len(t, lines, 2)
		})
	}
}

func TestTooManyConnectors(t *testing.T) {
	nested := `{"kv_connector":"X"}`
	for range 12 {
		nested = `{"kv_connector":"MultiConnector","kv_connector_extra_config":{"connectors":[` + nested + `]}}`
	}
	wide := `{"kv_connector":"MultiConnector","kv_connector_extra_config":{` +
		`"connectors":[` + strings.Repeat(`{},`, 1000) + `{}]}}`
	for name, transfer := range map[string]string{"nested": nested, "wide": wide} {
		t.Run(name, func(t *testing.T) {
			e := resolve(t, given(transfer))
			require.Len(t, e.Refusals, 1)
			assert.Equal(t, "more than 256 connectors, or nested more than 8 deep", e.Refusals[0].Reason)
			require.Len(t, e.Unresolved, 1)
			assert.Equal(t, topology.SettingTransfer, e.Unresolved[0].Setting)
		})
	}
}
