package document_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology/document"
)

func ptr(n int64) *int64 { return &n }

// twoSparks has a value for every field of a launch; both spellings below stand for it.
var twoSparks = &v1.Launch{
	Engine: v1.Engine{
		ID: "engine-a", Version: "0.33.0",
		Command:    []string{"vllm", "serve", "model-x", "-tp", "2"},
		Env:        map[string]string{"TP": "2"},
		EnvUnknown: []string{"TOKEN"},
		Parallel: &v1.Parallel{
			Tensor: ptr(2), Pipeline: ptr(1), PrefillContext: ptr(1), DecodeContext: ptr(1), Data: ptr(1), DataLocal: ptr(1),
		},
		Executor: "mp", Nnodes: ptr(2),
		KVTransfer: json.RawMessage(`{"kv_connector":"NixlConnector","kv_rank":null,"kv_buffer_size":1e9}`),
	},
	Nodes: []v1.Node{
		{
			ID: "spark-a", BootID: "b-a", Hostname: "spark", IP: "192.0.2.1", GPUs: ptr(1), MachineID: "m",
			Shm: &v1.Shm{
				Device: "0:27", Host: true, TotalBytes: ptr(64), FreeBytes: ptr(32),
				StaleRegions: []v1.StaleRegion{{Name: "vllm_offload_1.mmap", Bytes: 8}},
			},
			Memory: &v1.Memory{LimitBytes: ptr(128)},
		},
		{ID: "spark-b"},
	},
	Workers: []v1.Worker{
		{Rank: 0, Node: "spark-a", Version: "0.33.0", Groups: map[string][]int64{"tp": {0, 1}}},
		{Rank: 1, Node: "spark-b", Config: &v1.Configuration{Executor: "mp", KVTransfer: json.RawMessage(`{}`)}},
	},
	Core: &v1.Core{Node: "spark-a"},
}

const twoSparksJSON = ` {"engine":{"id":"engine-a","version":"0.33.0","command":["vllm","serve","model-x","-tp","2"],
 "env":{"TP":"2"},"env_unknown":["TOKEN"],"parallel":{"tensor":2,"pipeline":1,"prefill_context":1,"decode_context":1,
 "data":1,"data_local":1},"executor":"mp","nnodes":2,
 "kv_transfer":{"kv_connector":"NixlConnector","kv_rank":null,"kv_buffer_size":1e9}},
 "nodes":[{"id":"spark-a","boot_id":"b-a","hostname":"spark","ip":"192.0.2.1","gpus":1,"machine_id":"m",
 "shm":{"device":"0:27","host":true,"total_bytes":64,"free_bytes":32,
 "stale_regions":[{"name":"vllm_offload_1.mmap","bytes":8}]},"memory":{"limit_bytes":128}},
 {"id":"spark-b","shm":null}],"workers":[{"rank":0,"node":"spark-a","version":"0.33.0","groups":{"tp":[0,1]}},
 {"node":"spark-b","rank":1,"config":{"executor":"mp","kv_transfer":{}}}],"core":{"node":"spark-a"}} `

const twoSparksYAML = `
# Both machines have one GPU.
engine:
  id: engine-a
  version: "0.33.0"
  command: [vllm, serve, model-x, -tp, '2']
  env: {TP: "2"}
  env_unknown:
  - TOKEN
  parallel: {tensor: 0x2, pipeline: &one 1, prefill_context: *one, decode_context: *one, data: *one, data_local: *one}
  executor: mp
  nnodes: 2
  kv_transfer: {kv_connector: NixlConnector, kv_rank: ~, kv_buffer_size: 1e9}
nodes:
- id: spark-a
  boot_id: b-a
  hostname: spark
  ip: 192.0.2.1
  gpus: 1
  machine_id: m
  shm: {device: "0:27", host: True, total_bytes: 64, free_bytes: 32, stale_regions: [{name: vllm_offload_1.mmap, bytes: 8}]}
  memory: {limit_bytes: 128}
- id: spark-b
workers:
- &worker {rank: 0, node: spark-a, version: 0.33.0, groups: {tp: [0, 1]}}
- {rank: 1, node: spark-b, config: {executor: mp, kv_transfer: {}}}
core: {node: spark-a}
`

func TestLaunchFromJSON(t *testing.T) {
	for _, mediaType := range []string{"", "application/json", "application/json; charset=utf-8"} {
		launch, err := document.Launch([]byte(twoSparksJSON), mediaType)
		require.NoError(t, err, mediaType)
		assert.Equal(t, twoSparks, launch, mediaType)
	}
}

func TestLaunchFromYAML(t *testing.T) {
	for _, mediaType := range []string{"application/yaml", "application/x-yaml", "text/yaml; charset=utf-8"} {
		launch, err := document.Launch([]byte(twoSparksYAML), mediaType)
		require.NoError(t, err, mediaType)
		assert.Equal(t, twoSparks, launch, mediaType)
	}
}

// A refused document, with all that its error must say.
type refusal struct {
	name     string
	document string
	code     string
	nearest  string
	message  string
}

func (r refusal) check(t *testing.T, err error) {
	t.Helper()
	var problem *document.Error
	require.ErrorAs(t, err, &problem)
	assert.Equal(t, r.message, problem.Error())
	assert.Equal(t, r.code, problem.Code)
	assert.Equal(t, r.nearest, problem.Nearest)
}

func TestLaunchRefusesJSON(t *testing.T) {
	const engine = `{"engine":{"nnodes":1},`
	for _, test := range []refusal{
		{
			"unknown field with a near name", `{"engine":{"paralel":{"tensor":2}}}`, document.CodeUnknownField, "parallel",
			`/engine/paralel: unknown field "paralel"; did you mean "parallel"?`,
		},
		{
			"unknown field in camel case", engine + `"nodes":[{"id":"a","bootId":"x"}]}`, document.CodeUnknownField, "boot_id",
			`/nodes/0/bootId: unknown field "bootId"; did you mean "boot_id"?`,
		},
		{
			"unknown field in another case", `{"Engine":{}}`, document.CodeUnknownField, "engine",
			`/Engine: unknown field "Engine"; did you mean "engine"?`,
		},
		{
			"unknown field far from all", engine + `"tolerations":[]}`, document.CodeUnknownField, "",
			`/tolerations: unknown field "tolerations"; allowed here: engine, nodes, workers, core`,
		},
		{
			"unknown field of great length", engine + `"` + strings.Repeat("é", 100) + `":[]}`, document.CodeUnknownField, "",
			`/` + strings.Repeat("é", 63) + `...: unknown field "` + strings.Repeat("é", 32) +
				`..."; allowed here: engine, nodes, workers, core`,
		},
		{
			"key given twice", `{"engine":{"nnodes":1},"engine":{"nnodes":2}}`, document.CodeDuplicateKey, "",
			`/engine: key "engine" is given twice; keep one`,
		},
		{
			"key given twice in a transfer configuration", `{"engine":{"kv_transfer":{"a":[{"b":1,"b":2}]}}}`,
			document.CodeDuplicateKey, "", `/engine/kv_transfer/a/0/b: key "b" is given twice; keep one`,
		},
		{
			"string for a number", `{"engine":{"parallel":{"tensor":"8"}}}`, document.CodeInvalidType, "",
			`/engine/parallel/tensor: got a string; want a whole number`,
		},
		{
			"number for a string", `{"engine":{"command":["vllm","serve","-tp",2]}}`, document.CodeInvalidType, "",
			`/engine/command/3: got a number; want a string in quotes`,
		},
		{
			"list for a string", `{"engine":{"id":[]}}`, document.CodeInvalidType, "", `/engine/id: got a list; want a string`,
		},
		{
			"object for a string", `{"engine":{"executor":{"a":1}}}`, document.CodeInvalidType, "",
			`/engine/executor: got an object; want a string`,
		},
		{
			"boolean for a map", `{"engine":{"env":true}}`, document.CodeInvalidType, "", `/engine/env: got a boolean; want an object`,
		},
		{
			"string for a boolean", engine + `"nodes":[{"id":"a","shm":{"host":"yes"}}]}`, document.CodeInvalidType, "",
			`/nodes/0/shm/host: got a string; want true or false`,
		},
		{
			"boolean for a list", engine + `"nodes":true}`, document.CodeInvalidType, "", `/nodes: got a boolean; want a list`,
		},
		{"list for a launch", `[]`, document.CodeInvalidType, "", `got a list; want an object`},
		{
			"fraction", `{"engine":{"nnodes":1.5}}`, document.CodeInvalidType, "",
			`/engine/nnodes: got the number 1.5; want a whole number, without fraction or exponent`,
		},
		{
			"exponent", `{"engine":{"nnodes":1e3}}`, document.CodeInvalidType, "",
			`/engine/nnodes: got the number 1e3; want a whole number, without fraction or exponent`,
		},
		{
			"huge number", engine + `"workers":[{"rank":99999999999999999999,"node":"a"}]}`, document.CodeOutOfRange, "",
			`/workers/0/rank: got the number 99999999999999999999; ` +
				`want a whole number from -9223372036854775808 to 9223372036854775807`,
		},
		{
			"null in a list", `{"engine":{"command":["vllm",null]}}`, document.CodeInvalidType, "",
			`/engine/command/1: null in a list; leave the element out`,
		},
		{
			"null worker", engine + `"workers":[null]}`, document.CodeInvalidType, "",
			`/workers/0: null in a list; leave the element out`,
		},
		{
			"null variable", `{"engine":{"nnodes":1,"id":"kv_transfer","kv_transfer":{"a":[null]},"env":{"A":null}}}`,
			document.CodeInvalidType, "", `/engine/env/A: null as a variable's value; leave it out, or write ""`,
		},
		{
			"no engine", `{"nodes":[]}`, document.CodeMissingField, "",
			`/engine: engine is missing or empty; give its command, or fields such as parallel, executor and kv_transfer`,
		},
		{
			"engine with only a name", `{"engine":{"id":"a","version":"0.33.0"}}`, document.CodeMissingField, "",
			`/engine: engine is missing or empty; give its command, or fields such as parallel, executor and kv_transfer`,
		},
		{
			"null document", `null`, document.CodeMissingField, "",
			`/engine: engine is missing or empty; give its command, or fields such as parallel, executor and kv_transfer`,
		},
		{
			"node without id", engine + `"nodes":[{"id":"a"},{"boot_id":"b"}]}`, document.CodeMissingField, "",
			`/nodes/1: node has no id; give each node an id, workers refer to it`,
		},
		{
			"worker without node", engine + `"workers":[{"rank":0,"node":"a"},{"rank":7}]}`, document.CodeMissingField, "",
			`/workers/1: worker of rank 7 has no node; name the node that it runs on, ` +
				`or leave workers out where the placement is not known`,
		},
		{
			"core without node", engine + `"core":{}}`, document.CodeMissingField, "",
			`/core: core has no node; name the node that the engine core runs on, or leave core out`,
		},
		{"empty", "", document.CodeEmpty, "", `the document is empty; send a launch with at least an engine`},
		{"blank", " \n\t", document.CodeEmpty, "", `the document is empty; send a launch with at least an engine`},
		{
			"truncated", `{"engine":{"command":["vllm","ser`, document.CodeInvalidSyntax, "",
			`/engine/command/1: the document ends too early, at byte 33; it was cut off, or a bracket or quote is not closed`,
		},
		{
			"trailing data", engine + `"nodes":[]} {}`, document.CodeInvalidSyntax, "",
			"not valid JSON at byte 35: invalid character '{' after top-level value",
		},
		{
			"trailing comma", `{"engine":{"nnodes":1,}}`, document.CodeInvalidSyntax, "",
			"/engine: not valid JSON at byte 21: invalid character ',' at start of value",
		},
		{
			"bare word", `{"engine":{"id":yes}}`, document.CodeInvalidSyntax, "",
			"/engine/id: not valid JSON at byte 16: invalid character 'y' at start of value",
		},
		{
			"bytes that are no UTF-8", "{\"engine\":{\"id\":\"\xff\"}}", document.CodeInvalidUTF8, "",
			`/engine/id: byte 17 is not valid UTF-8; encode the document as UTF-8`,
		},
		{
			"half a surrogate pair", `{"engine":{"id":"\ud800"}}`, document.CodeInvalidSyntax, "",
			"/engine/id: not valid JSON at byte 17: invalid surrogate pair `\\ud800\"}}` in string",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := document.Launch([]byte(test.document), "application/json")
			test.check(t, err)
		})
	}
}

func TestLaunchRefusesMediaType(t *testing.T) {
	for mediaType, shown := range map[string]string{"text/html": `"text/html"`, "a;;b": `"a;;b"`} {
		_, err := document.Launch([]byte(`{}`), mediaType)
		refusal{
			code:    document.CodeMediaType,
			message: "content type " + shown + " is not read; send application/json or application/yaml",
		}.check(t, err)
	}
}

func TestInputTakesTheLaunchOutOfItsEnvelope(t *testing.T) {
	launch, err := document.Input([]byte(`{"input": `+twoSparksJSON+`}`), "")
	require.NoError(t, err)
	assert.Equal(t, twoSparks, launch)

	for text, want := range map[string]string{
		`{}`:                              `/input: input is missing; send {"input": launch}`,
		`{"launch": {}}`:                  `/launch: unknown field "launch"; allowed here: input`,
		`{"input": {"nodes": [{}]}}`:      `/input/engine: engine is missing or empty; give its command, or fields such as parallel, executor and kv_transfer`,
		`{"input": {"engine": {"id":1}}}`: `/input/engine/id: got a number; want a string in quotes`,
	} {
		_, err := document.Input([]byte(text), "")
		require.EqualError(t, err, want)
	}
	_, err = document.Input(nil, "text/html")
	require.Error(t, err)
}

// Other documents of api/v1 are decoded by the same rules.
func TestDecodeIsStrict(t *testing.T) {
	var verdict v1.Verdict
	require.NoError(t, document.Decode([]byte("outcome: deny"), "text/yaml", &verdict))
	assert.Equal(t, "deny", verdict.Outcome)

	err := document.Decode([]byte("outcome: deny\nchecks:\n- identifier: a"), "text/yaml", &verdict)
	require.EqualError(t, err, `line 3: /checks/0/identifier: unknown field "identifier"; `+
		`allowed here: id, outcome, enforcement, violations, more_violations, missing, waiver`)
}

func TestDecodeRefusesWhatItCannotRead(t *testing.T) {
	var verdict v1.Verdict
	for _, mediaType := range []string{"text/html", "text/yaml"} {
		var problem *document.Error
		require.ErrorAs(t, document.Decode([]byte("["), mediaType, &verdict), &problem, mediaType)
	}
}
