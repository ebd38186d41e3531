package vllm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestEngineCommands(t *testing.T) {
	for name, command := range map[string][]string{
		"serve":              {"vllm", "serve", "m", "-tp", "2"},
		"a path":             {"/opt/venv/bin/vllm", "serve", "m", "-tp", "2"},
		"the module":         {"python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m", "-tp", "2"},
		"the module, joined": {"python3.12", "-mvllm.entrypoints.openai.api_server", "-tp", "2"},
		"python's options": {
			"/usr/bin/python", "-u", "-X", "dev", "-W", "ignore", "-m",
			"vllm.entrypoints.openai.api_server", "-tp", "2",
		},
		"the main module":    {"python", "-m", "vllm.entrypoints.cli.main", "serve", "m", "-tp", "2"},
		"python with a path": {"python", "/opt/venv/bin/vllm", "serve", "m", "-tp", "2"},
		"the server's file":  {"python", "/x/vllm/entrypoints/openai/api_server.py", "-tp", "2"},
		"wrapped":            {"env", "A=b", "numactl", "-C", "0-7", "vllm", "serve", "m", "-tp", "2"},
		"on a cluster":       {"ray", "symmetric-run", "--min-nodes", "2", "--", "vllm", "serve", "m", "-tp", "2"},
		"scripted":           {"bash", "-c", "ray start --head && exec vllm serve m \\\n -tp 2"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "tp=2", summary(resolve(t, &v1.Launch{Engine: v1.Engine{Command: command}})))
		})
	}
}

func TestNoEngine(t *testing.T) {
	const looked = "/engine/command: no engine command: looked for `vllm serve` and `python -m " +
		"vllm.entrypoints.openai.api_server`, " +
		"also behind sh -c and programs such as env or exec, and saw "
	for name, tt := range map[string]struct {
		command []string
		want    string
	}{
		"another program":    {[]string{"routing-proxy", "--vllm-port=8200"}, "`routing-proxy --vllm-port=8200`"},
		"another subcommand": {[]string{"vllm", "bench", "serve", "x"}, "`vllm bench serve x`"},
		"vllm alone":         {[]string{"vllm"}, "`vllm`"},
		"another module":     {[]string{"python", "-m", "http.server"}, "`python -m http.server`"},
		"python alone":       {[]string{"python", "-m"}, "`python -m`"},
		"the main module": {[]string{"python", "-m", "vllm.entrypoints.cli.main", "bench"}, "`python -m " +
			"vllm.entrypoints.cli.main bench`"},
		"text about it": {[]string{"echo", "vllm", "serve"}, "`echo vllm serve`"},
		"a script's": {[]string{"sh", "-c", "cd /x; bash run.sh $(A); b; c; d"}, "`cd /x`, `bash run.sh " +
			"$(A)`, `b`, `c` and 1 more"},
		"an empty script": {[]string{"sh", "-c", "# nothing"}, "nothing that runs"},
		"a way not taken": {[]string{"sh", "-c", "exit 0; vllm serve m"}, "nothing that runs"},
		"a credential":    {[]string{"serve", "--hf-token", "hunter2"}, "`(not shown: it holds credentials)`"},
		"an empty name":   {[]string{""}, "``"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Resolve(&v1.Launch{Engine: v1.Engine{Command: tt.command}})
			require.EqualError(t, err, looked+tt.want+"; give the engine's own command, or its fields without a "+
				"command")
			require.ErrorIs(t, err, ErrNoEngine)
			var failure *Error
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, CodeNoEngine, failure.Code)
		})
	}
}

func TestErrors(t *testing.T) {
	contradicting := serve("-tp", "4", "--nnodes=2", "--distributed-executor-backend", "ray", "--kv-transfer-config",
		tiered)
	with := func(change func(*v1.Engine)) *v1.Launch {
		launch := *contradicting
		change(&launch.Engine)
		return &launch
	}
	for name, tt := range map[string]struct {
		launch     *v1.Launch
		code, want string
	}{
		"a size": {
			with(func(e *v1.Engine) { e.Parallel = &v1.Parallel{Tensor: number(2)} }), CodeContradiction,
			"/engine/parallel/tensor: engine.parallel.tensor is 2, but the command at /engine/command/3 gives -tp 4; " +
				"remove one of them or make them equal",
		},
		"nnodes": {
			with(func(e *v1.Engine) { e.Nnodes = number(1) }), CodeContradiction,
			"/engine/nnodes: engine.nnodes is 1, but the command at /engine/command/5 gives --nnodes 2; remove one " +
				"of them or make them equal",
		},
		"the executor": {
			with(func(e *v1.Engine) { e.Executor = "mp" }), CodeContradiction,
			"/engine/executor: engine.executor is mp, but the command at /engine/command/6 gives " +
				"--distributed-executor-backend ray; remove one of them or make them equal",
		},
		"the transfer": {
			with(func(e *v1.Engine) {
				e.KVTransfer = []byte(strings.Replace(tiered, "1024", "2048", 1))
			}), CodeContradiction,
			"/engine/kv_transfer: engine.kv_transfer.kv_connector_extra_config.cpu_bytes_to_use is 2048, but " +
				"--kv-transfer-config in the command makes it 1024; remove one of them or make them equal",
		},
		"a tier's key": {
			with(func(e *v1.Engine) {
				e.KVTransfer = []byte(strings.Replace(tiered, `"root_dir":"/x"`, `"host":"h"`, 1))
			}), CodeContradiction,
			"/engine/kv_transfer: engine.kv_transfer.kv_connector_extra_config.secondary_tiers[0].host is \"h\", but " +
				"--kv-transfer-config in the command makes it absent; remove one of them or make them equal",
		},
		"one key less": {
			with(func(e *v1.Engine) {
				e.KVTransfer = []byte(strings.Replace(tiered, `"kv_role":"kv_both",`, "", 1))
			}), CodeContradiction,
			"/engine/kv_transfer: engine.kv_transfer.kv_role is absent, but --kv-transfer-config in the command " +
				"makes it \"kv_both\"; remove one of them or make them equal",
		},
		"dotted keys": {
			&v1.Launch{Engine: v1.Engine{Command: []string{
				"vllm", "serve", "m",
				"--kv-transfer-config.kv_connector", "X",
			}, KVTransfer: []byte(`{"kv_connector":"Y"}`)}}, CodeContradiction,
			"/engine/kv_transfer: engine.kv_transfer.kv_connector is \"Y\", but --kv-transfer-config.kv_connector in " +
				"the command makes it \"X\"; remove one of them or make them equal",
		},
		"a scripted size": {
			&v1.Launch{Engine: v1.Engine{
				Command:  []string{"sh", "-c", "vllm serve m -tp 4"},
				Parallel: &v1.Parallel{Tensor: number(2)},
			}}, CodeContradiction,
			"/engine/parallel/tensor: engine.parallel.tensor is 2, but the command at /engine/command/2 gives -tp 4; " +
				"remove one of them or make them equal",
		},
		"the environment": {
			&v1.Launch{Engine: v1.Engine{
				Env:      map[string]string{"VLLM_DP_SIZE": "2"},
				Parallel: &v1.Parallel{Data: number(1)},
			}}, CodeContradiction,
			"/engine/parallel/data: engine.parallel.data is 1, but engine.env.VLLM_DP_SIZE is 2, which vLLM then " +
				"takes; remove one of them or make them equal",
		},
		"two engines": {
			script("vllm serve m -tp 2 & vllm serve m -tp 4; wait"), CodeSeveralEngines,
			"/engine/command/2: the script may start engines that differ: `vllm serve m -tp 2` and `vllm serve m -tp " +
				"4`; a launch is one engine: give each a launch of its own, or leave the one command that runs",
		},
		"one of two": {
			script(`if [ "$ROLE" = a ]; then vllm serve m -tp 2; else vllm serve m -tp 2 ` +
				`--kv-offloading-size 1; fi`), CodeSeveralEngines,
			"/engine/command/2: the script may start engines that differ: `vllm serve m -tp 2` and `vllm serve m -tp " +
				"2 --kv-offloading-size 1`; a launch is one engine: give each a launch of its own, or leave the one " +
				"command that runs",
		},
		"a broken script": {
			script("vllm serve 'm"), CodeScript,
			"/engine/command, line 1, column 12: the script cannot be parsed: reached EOF without closing quote `'`; " +
				"correct the script",
		},
		"a long script": {
			script(strings.Repeat("#", 40000)), CodeTooLarge,
			"/engine/command: the script has 40000 bytes and up to 0 nested brackets; at most 32768 bytes and 100 " +
				"brackets are read; put the engine's own command into the launch",
		},
		"arguments": {
			serve(make([]string, 5000)...), CodeTooLarge,
			"/engine/command: the command has 5003 arguments; at most 4096 are read; leave out those that the engine " +
				"does not need",
		},
		"scripted arguments": {
			script("vllm serve " + strings.Repeat("x ", 5000)), CodeTooLarge,
			"/engine/command: the command has 5002 arguments; at most 4096 are read; leave out those that the engine " +
				"does not need",
		},
		"a long argument": {
			serve(strings.Repeat("x", 200000)), CodeTooLarge,
			"/engine/command/3: the text has 200000 bytes; no argument or variable may have more than 131072; " +
				"shorten it",
		},
		"reserved, without a command": {
			&v1.Launch{Engine: v1.Engine{Env: map[string]string{
				"VLLM_DP_SIZE": "\U00100000", "Z": "\x00", "a/b": "",
			}}}, CodeText,
			"/engine/env/VLLM_DP_SIZE: the text holds a character of the private-use plane 16 (U+100000 and above), " +
				"which is not read; remove it",
		},
		"a name with a slash": {
			&v1.Launch{Engine: v1.Engine{Env: map[string]string{"a/b~": "\x00"}}}, CodeText,
			"/engine/env/a~1b~0: the text holds a NUL character, which no command or variable can; remove it",
		},
		"credentials": {
			script("vllm serve m --api-key hunter2 & vllm serve m -tp 4"), CodeSeveralEngines,
			"/engine/command/2: the script may start engines that differ: `(not shown: it holds credentials)` and " +
				"`vllm serve m -tp 4`; a launch is one engine: give each a launch of its own, or leave the one " +
				"command that runs",
		},
		"NUL": {serve("a\x00b"), CodeText, "/engine/command/3: the text holds a NUL character, which no " +
			"command or variable can; remove it"},
		"bytes": {serve("a\xffb"), CodeText, "/engine/command/3: the text is not valid UTF-8; write it in " +
			"UTF-8"},
		"reserved": {serve("\U00100000"), CodeText, "/engine/command/3: the text holds a character of the " +
			"private-use plane 16 (U+100000 and above), which is not read; remove it"},
		"reserved in env": {&v1.Launch{Engine: v1.Engine{
			Command: []string{"vllm", "serve"},
			Env:     map[string]string{"A": "\U0010FFFD"},
		}}, CodeText, "/engine/env/A: the text holds a character of " +
			"the private-use plane 16 (U+100000 and above), which is not read; remove it"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Resolve(tt.launch)
			require.EqualError(t, err, tt.want)
			var failure *Error
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, tt.code, failure.Code)
			assert.NotErrorIs(t, err, ErrNoEngine)
		})
	}
	agreeing := with(func(e *v1.Engine) {
		e.Parallel, e.Nnodes, e.Executor = &v1.Parallel{Tensor: number(4)}, number(2), "ray"
		e.KVTransfer = []byte(" " + strings.Replace(tiered, ":", " : ", 3))
	})
	assert.Equal(t, summary(resolve(t, contradicting)), summary(resolve(t, agreeing)))
}

func TestCommandsThatAgreeAreOneEngine(t *testing.T) {
	for name, text := range map[string]string{
		"ranks": `if [ "$I" = 0 ]; then vllm serve m -tp 2 -n 2 -r 0; else vllm serve m -tp 2 -n 2 -r "$I" ` +
			`--headless; fi`,
		"ports": `case $I in 0) vllm serve m -tp 2 -n 2 --port 1;; *) vllm serve m --port 2 ` +
			`--tensor-parallel-size=2 --nnodes 2;; esac`,
		"a restart":   `until vllm serve m -tp 2 -n 2; do vllm serve m -tp 2 -n 2; done`,
		"data ranks":  `vllm serve m -tp 2 -n 2 || vllm serve m -tp 2 -n 2 -dpr 1`,
		"unreachable": `exec vllm serve m -tp 2 -n 2; vllm serve m -tp 4`,
		"not chosen":  `ROLE=a; if [ $ROLE = a ]; then vllm serve m -tp 2 -n 2; else vllm serve m -tp 4; fi`,
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, "tp=2 nnodes=2", summary(resolve(t, script(text))))
		})
	}
}

func TestFields(t *testing.T) {
	e := resolve(t, &v1.Launch{Engine: v1.Engine{
		ID: "engine-a", Version: "0.33.0", Executor: "external_launcher",
		Nnodes: number(2),
		Parallel: &v1.Parallel{
			Tensor: number(2), Pipeline: number(3), PrefillContext: number(4),
			DecodeContext: number(5), Data: number(6), DataLocal: number(7),
		},
		KVTransfer: []byte(`{"engine_id":"other","kv_connector":"X"}`),
	}})
	assert.Equal(t, "id=engine-a tp=2 pp=3 pcp=4 dcp=5 dp=6 local=7 nnodes=2 executor=external_launcher X", summary(e))
	assert.Equal(t, "0.33.0", e.Version)
	assert.Equal(t, "id=x X", summary(resolve(t, given(`{"engine_id":"x","kv_connector":"X"}`))))
	assert.Equal(t, "X", summary(resolve(t, given(`{"engine_id":7,"kv_connector":"X"}`))))
	assert.Equal(t, "executor=foo\nrefused by parallel.config: engine.executor foo: it is no executor that vLLM "+
		"knows and no import path of one; "+
		"choose mp, ray, uni or external_launcher, or give the path of an Executor "+
		"class", summary(resolve(t, &v1.Launch{Engine: v1.Engine{Executor: "foo"}})))
	assert.Equal(t, "", summary(resolve(t, &v1.Launch{})))
}

func TestFieldsFillWhatTheCommandLeavesOut(t *testing.T) {
	launch := serve("-pp", "2", "--kv-offloading-size", "1")
	launch.Engine.Parallel, launch.Engine.Executor = &v1.Parallel{Tensor: number(4)}, "mp"
	launch.Engine.KVTransfer = []byte(`{"kv_connector_extra_config":{"spec_name":"TieringOffloadingSpec",` +
		`"secondary_tiers":[{}]}}`)
	assert.Equal(t, "tp=4 pp=2 executor=mp "+
		"OffloadingConnector/TieringOffloadingSpec*+(1073741824)", summary(resolve(t, launch)))
}

func TestAFieldDoesNotRepairARefusedFlag(t *testing.T) {
	launch := serve("-tp", "abc")
	launch.Engine.Parallel = &v1.Parallel{Tensor: number(4)}
	assert.Equal(t, "tp=4\nrefused by parallel.config: -tp abc: invalid int value; give a whole number, e.g. -tp "+
		"2", summary(resolve(t, launch)))
}

func TestReplicasFromTheEnvironment(t *testing.T) {
	for name, tt := range map[string]struct {
		args  []string
		env   map[string]string
		later []string
		want  string
	}{
		"taken":              {nil, map[string]string{"VLLM_DP_SIZE": "4", "VLLM_DP_RANK": "1"}, nil, "dp=4 dprank=1"},
		"taken where 1":      {[]string{"-dp", "1"}, map[string]string{"VLLM_DP_SIZE": "4"}, nil, "dp=4"},
		"one":                {nil, map[string]string{"VLLM_DP_SIZE": "1", "VLLM_DP_RANK": "3"}, nil, ""},
		"not beside a flag":  {[]string{"-dp", "2"}, map[string]string{"VLLM_DP_SIZE": "4"}, nil, "dp=2"},
		"not with none here": {[]string{"-dpl", "0"}, map[string]string{"VLLM_DP_SIZE": "4"}, nil, "local=0"},
		"known later": {nil, nil, []string{"VLLM_DP_SIZE"}, "dp=0\nunresolved engine.parallel.data: " +
			"$VLLM_DP_SIZE is set only when the container starts"},
		"the rank later": {nil, map[string]string{"VLLM_DP_SIZE": "2"}, []string{"VLLM_DP_RANK"}, "dp=2\nunresolved " +
			"engine.data_rank: $VLLM_DP_RANK is set only when the container starts"},
		"no number": {nil, map[string]string{"VLLM_DP_SIZE": "two"}, nil, "dp=0\nunresolved engine.parallel.data: " +
			"the value of VLLM_DP_SIZE cannot be read\n" +
			"refused by parallel.config: VLLM_DP_SIZE two: the variable is not a number; set VLLM_DP_SIZE to a whole " +
			"number or remove it"},
	} {
		t.Run(name, func(t *testing.T) {
			launch := serve(tt.args...)
			launch.Engine.Env, launch.Engine.EnvUnknown = tt.env, tt.later
			assert.Equal(t, tt.want, summary(resolve(t, launch)))
		})
	}
	assert.Equal(t, "dp=2", summary(resolve(t, script("export VLLM_DP_SIZE=2; exec vllm serve m"))))
	assert.Equal(t, "dp=2", summary(resolve(t, script("VLLM_DP_SIZE=2 vllm serve m"))))
	assert.Equal(t, "", summary(resolve(t, script("VLLM_DP_SIZE=2; vllm serve m"))))
}

func TestDefaultExecutor(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		gpus []*int64
		want string
	}{
		"one worker":               {nil, nil, "uni"},
		"several workers":          {[]string{"-tp", "2"}, nil, "mp"},
		"several replicas":         {[]string{"-dp", "2"}, nil, "mp"},
		"several nodes":            {[]string{"-tp", "4", "-n", "2"}, []*int64{number(2), number(2)}, "mp"},
		"replicas on Ray":          {[]string{"-dp", "2", "-dpb", "ray"}, nil, "ray"},
		"enough GPUs":              {[]string{"-tp", "4", "-pp", "2"}, []*int64{number(8)}, "mp"},
		"too few GPUs":             {[]string{"-tp", "4", "-pp", "4"}, []*int64{number(8), number(8)}, "ray"},
		"too few on one node":      {[]string{"-tp", "4"}, []*int64{number(8), number(0)}, "ray"},
		"GPUs that are not listed": {[]string{"-tp", "4"}, []*int64{nil}, "mp"},
		"one worker without GPUs":  {nil, []*int64{number(0)}, "uni"},
		"sizes that are unknown":   {[]string{"-tp", "$(TP)"}, []*int64{number(1)}, "mp"},
		"huge sizes":               {[]string{"-tp", "4294967296", "-pp", "4294967296"}, []*int64{number(8)}, "ray"},
		"negative sizes":           {[]string{"-tp", "-1", "-pp", "-1"}, nil, "mp"},
	} {
		t.Run(name, func(t *testing.T) {
			launch := serve(tt.args...)
			for _, gpus := range tt.gpus {
				launch.Nodes = append(launch.Nodes, v1.Node{ID: "n", GPUs: gpus})
			}
			e := resolve(t, launch)
			assert.Equal(t, tt.want, e.Executor)
			assert.False(t, e.ExecutorGiven)
		})
	}
}

// TestStructuredLaunchesAreCheap holds the path that every request takes to a number of allocations.
func TestStructuredLaunchesAreCheap(t *testing.T) {
	plain := &v1.Launch{Engine: v1.Engine{Parallel: &v1.Parallel{Tensor: number(8)}, Executor: "mp"}}
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = Resolve(plain) }), 4.0)
	transfer := given(tiered)
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = Resolve(transfer) }), 34.0)
}

func BenchmarkResolve(b *testing.B) {
	for name, launch := range map[string]*v1.Launch{
		"plain":    {Engine: v1.Engine{Parallel: &v1.Parallel{Tensor: number(8)}, Executor: "mp"}},
		"transfer": given(tiered),
		"command":  serve("-tp", "8", "--port", "1", "--kv-transfer-config", tiered),
		"script":   script("A=$((4 * 2)); exec vllm serve m -tp $A --kv-transfer-config '" + tiered + "'"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Resolve(launch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
