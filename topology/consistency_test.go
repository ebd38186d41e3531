package topology

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestVersions(t *testing.T) {
	launch := placed("ABABA")
	assert.Nil(t, fold(t, launch, engineOf("ray", 5, 1, 1, 1)).Versions, "nobody reported one")
	for i, version := range []string{"0.33.0", "0.32.0", "", "0.32.0", "0.33.0"} {
		launch.Workers[i].Version = version
	}
	want := []VersionGroup{
		{Version: "0.33.0", Ranks: "ranks 0, 4", Nodes: []string{"A"}},
		{Version: "0.32.0", Ranks: "ranks 1, 3", Nodes: []string{"B"}},
	}
	assert.Equal(t, want, fold(t, launch, engineOf("ray", 5, 1, 1, 1)).Versions)
	launch.Workers[0], launch.Workers[4] = launch.Workers[4], launch.Workers[0]
	launch.Workers[1], launch.Workers[3] = launch.Workers[3], launch.Workers[1]
	assert.Equal(t, want, fold(t, launch, engineOf("ray", 5, 1, 1, 1)).Versions, "the order of the workers does not matter")
}

func TestVersionsOfOneMind(t *testing.T) {
	launch := placed("AAB")
	for i := range launch.Workers {
		launch.Workers[i].Version = "0.33.0"
	}
	assert.Equal(t, []VersionGroup{{Version: "0.33.0", Ranks: "ranks 0-2", Nodes: []string{"A", "B"}}},
		fold(t, launch, engineOf("ray", 3, 1, 1, 1)).Versions)
}

// differences folds two workers with these configurations and returns in what the second differs.
func differences(t *testing.T, first, second *v1.Configuration) []string {
	t.Helper()
	launch := placed("AB")
	launch.Workers[0].Config, launch.Workers[1].Config = first, second
	groups := fold(t, launch, engineOf("ray", 2, 1, 1, 1)).Configurations
	require.NotEmpty(t, groups)
	assert.Equal(t, []string{}, groups[0].Differs)
	if len(groups) == 1 {
		assert.Equal(t, "ranks 0-1", groups[0].Ranks)
		return nil
	}
	assert.Equal(t, []string{"rank 0", "rank 1"}, []string{groups[0].Ranks, groups[1].Ranks})
	assert.Equal(t, [][]string{{"A"}, {"B"}}, [][]string{groups[0].Nodes, groups[1].Nodes})
	return groups[1].Differs
}

func TestConfigurationsThatAgree(t *testing.T) {
	transfer := func(text string) *v1.Configuration { return &v1.Configuration{KVTransfer: json.RawMessage(text)} }
	for _, test := range []struct {
		name          string
		first, second *v1.Configuration
	}{
		{"equal", &v1.Configuration{Executor: "mp"}, &v1.Configuration{Executor: "mp"}},
		{
			"an omitted size is 1",
			&v1.Configuration{Parallel: &v1.Parallel{Tensor: pointer(1), Data: pointer(1)}, Nnodes: pointer(1)}, &v1.Configuration{},
		},
		{
			"replicas per host may differ",
			&v1.Configuration{Parallel: &v1.Parallel{DataLocal: pointer(1)}}, &v1.Configuration{Parallel: &v1.Parallel{DataLocal: pointer(2)}},
		},
		{"order of keys and spaces", transfer(`{"a":1,"b":[1, 2]}`), transfer(`{ "b":[1,2], "a":1 }`)},
		{
			"what differs between processes",
			transfer(`{"engine_id":"x","kv_ip":"192.0.2.1","kv_port":1,"kv_rank":0,"kv_role":"kv_both"}`), transfer(`{"kv_role":"kv_both"}`),
		},
		{
			"also in the children of a MultiConnector",
			transfer(`{"kv_connector_extra_config":{"connectors":[{"kv_port":1,"kv_role":"kv_both"}]}}`),
			transfer(`{"kv_connector_extra_config":{"connectors":[{"kv_port":2,"kv_role":"kv_both"}]}}`),
		},
		{"no transfer at all", transfer(""), transfer("null")},
		{"equally unreadable", transfer("{"), transfer("{")},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Empty(t, differences(t, test.first, test.second))
			assert.Empty(t, differences(t, test.second, test.first))
		})
	}
}

func TestConfigurationsThatDiffer(t *testing.T) {
	first := &v1.Configuration{
		Parallel: &v1.Parallel{Tensor: pointer(2), PrefillContext: pointer(2), DecodeContext: pointer(2), Data: pointer(2)},
		Executor: "mp", Nnodes: pointer(2), Version: "0.33.0", KVTransfer: json.RawMessage(`{"kv_role":"kv_both"}`),
	}
	second := &v1.Configuration{Parallel: &v1.Parallel{Pipeline: pointer(4)}, Executor: "ray", KVTransfer: json.RawMessage(`{}`)}
	assert.Equal(t, []string{
		"parallel.tensor: 1, not 2", "parallel.pipeline: 4, not 1", "parallel.prefill_context: 1, not 2",
		"parallel.decode_context: 1, not 2", "parallel.data: 1, not 2", "executor: ray, not mp", "nnodes: 1, not 2",
		"version: absent, not 0.33.0", `kv_transfer.kv_role: absent, not "kv_both"`,
	}, differences(t, first, second))
}

func TestTransferDifferences(t *testing.T) {
	nested := func(depth int, leaf string) string {
		return strings.Repeat(`{"a":`, depth) + leaf + strings.Repeat(`}`, depth)
	}
	for _, test := range []struct {
		name, first, second string
		want                []string
	}{
		{"a number", `{"n":1}`, `{"n":2}`, []string{"kv_transfer.n: 2, not 1"}},
		{"a number's kind", `{"n":1}`, `{"n":1.0}`, []string{"kv_transfer.n: 1.0, not 1"}},
		{"a number beyond float64", `{"n":9007199254740993}`, `{"n":9007199254740992}`, []string{
			"kv_transfer.n: 9007199254740992, not 9007199254740993",
		}},
		{"a word", `{"n":true}`, `{"n":null}`, []string{"kv_transfer.n: null, not true"}},
		{"an element", `{"n":[1,{"a":2}]}`, `{"n":[1,{"a":3},4]}`, []string{
			"kv_transfer.n[1].a: 3, not 2", "kv_transfer.n[2]: 4, not absent",
		}},
		{"a kind", `{"n":{"a":1}}`, `{"n":[1,2]}`, []string{"kv_transfer.n: a list of 2, not an object of 1 keys"}},
		{"none at all", `{"n":1}`, ``, []string{"kv_transfer: null, not an object of 1 keys"}},
		{"a secret", `{"secret_key":"hunter2"}`, `{"secret_key":"hunter3"}`, []string{
			"kv_transfer.secret_key: the values differ in a part that is not shown",
		}},
		{"a secret on one side", `{"session_token":"hunter2"}`, `{}`, []string{
			"kv_transfer.session_token: absent, not a value that is not shown",
		}},
		{"below a secret", `{"credentials":{"a":["hunter2"]}}`, `{"credentials":{"a":["hunter3"]}}`, []string{
			"kv_transfer.credentials.a[0]: the values differ in a part that is not shown",
		}},
		{"a password in an address", `{"url":"redis://:hunter2@cache"}`, `{"url":"redis://cache"}`, []string{
			`kv_transfer.url: "redis://cache", not a value that is not shown`,
		}},
		{"a signature in an address", `{"url":"https://host/?sig=hunter2"}`, `{"url":"a"}`, []string{
			`kv_transfer.url: "a", not a value that is not shown`,
		}},
		{"long values", `{"root_dir":"/` + strings.Repeat("a", 100) + `"}`, `{"root_dir":"/b"}`, []string{
			`kv_transfer.root_dir: "/b", not "/` + strings.Repeat("a", 39) + `..."`,
		}},
		{"long values that begin alike", `"` + strings.Repeat("ä", 50) + `"`, `"` + strings.Repeat("ä", 51) + `"`, []string{
			"kv_transfer: the values differ in a part that is not shown",
		}},
		{"not JSON", `{`, `{"n":1}`, []string{"kv_transfer: JSON of 7 bytes, not 1 bytes that are no JSON"}},
		{"more than one document", `{"n":1}`, `{"n":1}}`, []string{"kv_transfer: 8 bytes that are no JSON, not JSON of 7 bytes"}},
		{"deep", nested(17, "1"), nested(17, "2"), []string{
			"kv_transfer" + strings.Repeat(".a", 16) + ": the values differ in a part that is not shown",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := differences(t, &v1.Configuration{KVTransfer: json.RawMessage(test.first)},
				&v1.Configuration{KVTransfer: json.RawMessage(test.second)})
			assert.Equal(t, test.want, got)
			assert.NotContains(t, strings.Join(got, " "), "hunter", "secrets are never shown")
		})
	}
}

// Transfer configurations are equal exactly when nothing is found in which they differ, and a credential is never shown.
func FuzzTransferDifference(f *testing.F) {
	f.Add(`{"a":1,"engine_id":"x"}`, `{"a":1.0}`)
	f.Add(`{"secret_key":"hunter2"}`, `{"secret_key":["hunter3"]}`)
	f.Add(`{"kv_connector_extra_config":{"connectors":[{"kv_port":1},null]}}`, `{"kv_connector_extra_config":{"connectors":{}}}`)
	f.Add("{", "\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		this, first := canonical{transfer: canonicalTransfer([]byte(a))}, canonical{transfer: canonicalTransfer([]byte(b))}
		found := this.differs(&first)
		assert.Equal(t, this.key() == first.key(), len(found) == 0, found)
		assert.LessOrEqual(t, len(found), maxDifferences+1)
		secret := canonical{transfer: canonicalTransfer([]byte(`{"secret_key":` + a + `}`))}
		if json.Valid([]byte(a)) && strings.Contains(a, "hunter2") {
			assert.NotContains(t, strings.Join(secret.differs(&first), " "), "hunter2")
		}
	})
}

func TestDifferencesAreBounded(t *testing.T) {
	list := func(value int) json.RawMessage {
		return json.RawMessage("[" + strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%d,", value), 100), ",") + "]")
	}
	got := differences(t, &v1.Configuration{KVTransfer: list(1)}, &v1.Configuration{KVTransfer: list(2)})
	require.Len(t, got, maxDifferences+1)
	assert.Equal(t, "kv_transfer[0]: 2, not 1", got[0])
	assert.Equal(t, "kv_transfer: 84 more differences", got[maxDifferences])
}

func TestConfigurationsOfSomeWorkers(t *testing.T) {
	launch := placed("ABCA")
	assert.Nil(t, fold(t, launch, engineOf("ray", 4, 1, 1, 1)).Configurations, "nobody reported one")
	launch.Workers[1].Config = &v1.Configuration{Executor: "mp"}
	launch.Workers[2].Config = &v1.Configuration{Executor: "ray"}
	launch.Workers[3].Config = &v1.Configuration{Executor: "mp"}
	assert.Equal(t, []ConfigurationGroup{
		{Ranks: "ranks 1, 3", Nodes: []string{"B", "A"}, Differs: []string{}},
		{Ranks: "rank 2", Nodes: []string{"C"}, Differs: []string{"executor: ray, not mp"}},
	}, fold(t, launch, engineOf("ray", 4, 1, 1, 1)).Configurations)
}

func TestCredential(t *testing.T) {
	for key, want := range map[string]bool{
		"access_key": true, "secret_key": true, "session_token": true, "SecretKey": true, "password": true, "passwd": true,
		"aws_credentials": true, "private_key_path": true, "Authorization": true, "auth": true,
		"root_dir": false, "tokens_per_block": false, "bucket": false, "spec_name": false, "kv_role": false,
	} {
		assert.Equal(t, want, Credential(key), key)
	}
}
