package vllm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// everything is what is unresolved where further flags may be anywhere.
func everything(reason string) string {
	out := "tp=0 pp=0 pcp=0 dcp=0 dp=0 nnodes=0"
	for _, setting := range []string{
		"parallel.tensor", "parallel.pipeline", "parallel.prefill_context", "parallel.decode_context", "parallel.data",
		"parallel.data_local", "data_rank", "data_start_rank", "nnodes", "node_rank", "executor", "kv_transfer",
	} {
		out += "\nunresolved engine." + setting + ": " + reason
	}
	return out
}

// behindTensor is the same where the tensor size is given after them.
func behindTensor(reason string) string {
	out := strings.Replace(everything(reason), "tp=0", "tp=2", 1)
	return strings.Replace(out, "\nunresolved engine.parallel.tensor: "+reason, "", 1)
}

func TestScriptedEngines(t *testing.T) {
	env := map[string]string{"TP": "4", "LOCAL": "8", "ARGS": "-tp 2 --headless", "CFG": tiered}
	for name, tt := range map[string]struct{ script, want string }{
		"values from the environment": {`vllm serve m -tp $TP -dp $((LOCAL * 2)) --nnodes ${N:-3}`, "tp=4 dp=16 " +
			"nnodes=3"},
		"arguments from it": {`vllm serve m $ARGS`, "tp=2 headless=true"},
		"a transfer from it": {`vllm serve m --kv-transfer-config ` +
			`"$CFG"`, "OffloadingConnector/TieringOffloadingSpec*+(1024)"},
		"a quoted model":            {`vllm serve "$MODEL" -tp 2`, "tp=2"},
		"a model behind a flag":     {`vllm serve --model $MODEL -tp 2`, "tp=2"},
		"values that do not matter": {`vllm serve m --port $PORT --host=$HOST --master-addr $ADDR -tp 2`, "tp=2"},
		"a size that is not set": {`vllm serve m -tp $N -pp 2`, "tp=0 pp=2\nunresolved engine.parallel.tensor: " +
			"$N is not set in the container's env"},
		"a size that comes later": {`vllm serve m --tensor-parallel-size=${LATER:-2}`, "tp=0\nunresolved " +
			"engine.parallel.tensor: $LATER is set only when the container starts"},
		"a size from a command": {`vllm serve m -tp "$(nproc)"`, "tp=0\nunresolved engine.parallel.tensor: " +
			"$(nproc) is a command substitution, and nothing is executed to learn its output"},
		"an executor": {`vllm serve m --distributed-executor-backend $E`, "\nunresolved " +
			"engine.executor: $E is not set in the container's env"},
		"a data-parallel backend": {`vllm serve m -dp 2 -dpb $E`, "dp=2\nunresolved engine.parallel.data_local: " +
			"$E is not set in the container's env"},
		"an offloading size": {`vllm serve m --kv-offloading-size $S`, "\nunresolved engine.kv_transfer: $S " +
			"is not set in the container's env"},
		"an offloading backend": {
			`vllm serve m --kv-offloading-size 1 --kv-offloading-backend $S`,
			"\nunresolved engine.kv_transfer: $S is not set in the container's env",
		},
		"a simple offload": {
			`VLLM_USE_SIMPLE_KV_OFFLOAD=$S vllm serve m --kv-offloading-size 1`,
			"\nunresolved engine.kv_transfer: $S is not set in the container's env",
		},
		"a transfer": {`vllm serve m --kv-transfer-config "$S"`, "\nunresolved engine.kv_transfer: $S is not " +
			"set in the container's env"},
		"part of one": {`vllm serve m --kv-transfer-config '{"kv_connector":"'$S'"}'`, "\nunresolved " +
			"engine.kv_transfer: $S is not set in the container's env"},
		"a name in one": {`vllm serve m --kv-transfer-config '{"kv_connector":"X","'"$S"'":1}'`, "\nunresolved " +
			"engine.kv_transfer: $S is not set in the container's env"},
		"a number in one": {`vllm serve m --kv-transfer-config ` +
			`'{"kv_connector":"X","kv_rank":'"$S"'}'`, "\nunresolved engine.kv_transfer: $S is not set in the " +
			"container's env"},
		"a place in one": {`vllm serve m --kv-transfer-config '{"kv_connector":"X","engine_id":"'"$S"'"}'`, "X"},
		"a tier's place": {
			`vllm serve m --kv-transfer-config ` +
				`'{"kv_connector":"X","kv_connector_extra_config":{"secondary_tiers":[{"type":"fs",` +
				`"root_dir":"/x/'"$S"'"}]}}'`,
			"X+",
		},
		"a tier's type": {
			`vllm serve m --kv-transfer-config ` +
				`'{"kv_connector":"X","kv_connector_extra_config":{"secondary_tiers":[{"type":"'"$S"'"}]}}'`,
			"\nunresolved engine.kv_transfer: $S is not set in the container's env",
		},
		"a dotted value": {`vllm serve m --kv-transfer-config.kv_connector $S`, "\nunresolved engine.kv_transfer: " +
			"$S is not set in the container's env"},
		"lost quotes": {`vllm serve m --kv-transfer-config {"kv_connector":"$S"}`, "\nunresolved " +
			"engine.kv_transfer: its value cannot be read\nrefused by offload.config: --kv-transfer-config " +
			"{kv_connector:$S}: not JSON: invalid character 'k' at start of value, at byte 1; give the keys and " +
			"texts their double quotes back; a shell takes them away unless the whole value is in single quotes"},
		"further arguments": {`vllm serve m $MORE`, everything("$MORE is not set in the container's env; it stands " +
			"without quotes, so that it may hold further arguments")},
		"a flag that is not known": {
			`vllm serve m --port 1 "$MORE"`,
			everything("$MORE is not set in the container's env, and it may be a flag itself"),
		},
		"a flag that is part of one": {`vllm serve m "--$MORE"`, everything("$MORE is not set in the container's " +
			"env, and it may be a flag itself")},
		"an alias with its value": {`vllm serve m -n"$N"`, "nnodes=0\nunresolved engine.nnodes: $N is not set " +
			"in the container's env"},
		"a dotted flag": {`vllm serve m "--$MORE.x" 1 -tp 2`, behindTensor("$MORE is not set in the " +
			"container's env, and it may be a flag itself")},
		"text that begins plainly": {`vllm serve m "x$MORE"`, ""},
		"behind a flag without a value": {`vllm serve m --enforce-eager $MORE`, everything("$MORE is not set in the " +
			"container's env; it stands without quotes, so that it may hold further arguments")},
		"a model without quotes": {`vllm serve $MODEL`, everything("$MODEL is not set in the container's env; " +
			"it stands without quotes, so that it may hold further arguments")},
		"a configuration file": {`vllm serve m --config f.yaml`, everything("--config f.yaml may set it, " +
			"and the file is not read")},
	} {
		t.Run(name, func(t *testing.T) {
			launch := script(tt.script)
			launch.Engine.Env, launch.Engine.EnvUnknown = env, []string{"LATER"}
			assert.Equal(t, tt.want, summary(resolve(t, launch)))
		})
	}
}

func TestTheLastFlagWinsOverUnseenOnes(t *testing.T) {
	const all = ` -tp 2 -pp 1 -pcp 1 -dcp 1 -dp 2 -dpb mp -dpl 1 -dpn 0 -dpr 0 -n 1 -r 0 ` +
		`--distributed-executor-backend mp`
	const after = "tp=2 dp=2 local=1 dprank=0 dpstart=0 dpbackend=mp executor=mp\nunresolved engine.kv_transfer: "
	assert.Equal(t, after+"$MORE is not set in the container's env; it stands without quotes, so that it may hold "+
		"further arguments",
		summary(resolve(t, script("vllm serve m $MORE"+all))))
	assert.Equal(t, after+"--config f.yaml may set it, and the file is not read",
		summary(resolve(t, script("vllm serve m --config=f.yaml"+all))))
	assert.Equal(t, everything("$MORE is not set in the container's env; it stands without quotes, so that it may "+
		"hold further arguments"),
		summary(resolve(t, script("vllm serve m"+all+" $MORE"))))
}

func TestFieldsResolveWhatTheCommandLeavesOpen(t *testing.T) {
	launch := script(`vllm serve m -tp $TP --distributed-executor-backend "$E" --kv-transfer-config "$CFG" $MORE`)
	launch.Engine.Parallel = &v1.Parallel{
		Tensor: number(2), Pipeline: number(1), PrefillContext: number(1),
		DecodeContext: number(1),
		Data:          number(1), DataLocal: number(1),
	}
	launch.Engine.Nnodes, launch.Engine.Executor, launch.Engine.KVTransfer = number(1), "mp", []byte(tiered)
	const reason = ": $MORE is not set in the container's env; it stands without quotes, so that it may hold further " +
		"arguments"
	assert.Equal(t, "tp=2 local=1 executor=mp OffloadingConnector/TieringOffloadingSpec*+(1024)\nunresolved "+
		"engine.data_rank"+reason+
		"\nunresolved engine.data_start_rank"+reason+"\nunresolved "+
		"engine.node_rank"+reason, summary(resolve(t, launch)))
}
