package vllm

import (
	"fmt"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/vllm/internal/shell"
)

// The checks that report what vLLM would refuse.
const (
	checkParallel = "parallel.config"
	checkOffload  = "offload.config"
)

// lookup reads a variable of the engine's environment.
type lookup func(name string) (value string, set bool)

// builder puts an engine together from the fields of a launch, its environment and the arguments of its command.
type builder struct {
	launch   *v1.Launch
	engine   *topology.Engine
	unknowns *shell.Unknowns
	env      lookup
	// args is nil without a command.
	args *arguments
	err  *Error
}

func build(launch *v1.Launch, u *shell.Unknowns, env lookup, args *arguments) (*topology.Engine, error) {
	e := &topology.Engine{ID: launch.Engine.ID, Version: launch.Engine.Version}
	b := &builder{launch: launch, engine: e, unknowns: u, env: env, args: args}
	fields := launch.Engine.Parallel
	if fields == nil {
		fields = &v1.Parallel{}
	}
	if args != nil {
		e.Refusals = args.refusals
	}
	e.Tensor = b.size(flagTensor, fields.Tensor, 1)
	e.Pipeline = b.size(flagPipeline, fields.Pipeline, 1)
	e.PrefillContext = b.size(flagPrefillContext, fields.PrefillContext, 1)
	e.DecodeContext = b.size(flagDecodeContext, fields.DecodeContext, 1)
	e.Data = b.size(flagData, fields.Data, 1)
	e.DataLocal = b.optional(flagDataLocal, fields.DataLocal)
	e.DataRank = b.optional(flagDataRank, nil)
	e.DataStartRank = b.optional(flagDataStartRank, nil)
	e.Nnodes = b.size(flagNnodes, launch.Engine.Nnodes, 1)
	e.NodeRank = b.size(flagNodeRank, nil, 0)
	e.HybridLB, e.ExternalLB, e.Headless = b.on(flagHybridLB), b.on(flagExternalLB), b.on(flagHeadless)
	b.dataFromEnv(fields.Data)
	b.dataBackend()
	b.executor()
	e.Transfer = b.transfer()
	if b.err != nil {
		return nil, b.err
	}
	return e, nil
}

func (b *builder) refuse(r topology.Refusal) { b.engine.Refusals = append(b.engine.Refusals, r) }

func (b *builder) unresolve(setting, reason string) {
	for _, u := range b.engine.Unresolved {
		if u.Setting == setting {
			return
		}
	}
	b.engine.Unresolved = append(b.engine.Unresolved, topology.Unresolved{Setting: setting, Reason: reason})
}

// given is the value of a flag as text. The reason says why it is unknown where it is.
func (b *builder) given(id flagID) (o occurrence, reason string) {
	if b.args == nil {
		return occurrence{}, ""
	}
	o = b.args.flags[id]
	if b.args.unseen != "" && (!o.given || o.at < b.args.unseenAt) {
		return occurrence{}, b.args.unseen
	}
	return o, b.unknowns.Reason(o.value)
}

// number is a size from the command or from its field. It gives nil where neither says anything, and where the value
// is unknown or unreadable, with known false.
func (b *builder) number(id flagID, field *int64) (n *int64, known bool) {
	o, reason := b.given(id)
	switch {
	case reason != "":
		if field != nil {
			return field, true
		}
		b.unresolve(flags[id].setting, reason)
		return nil, false
	case !o.given:
		return field, true
	}
	if o.refused {
		if field == nil {
			b.unresolve(flags[id].setting, "the value of "+o.spelled+" cannot be read")
		}
		return field, field != nil
	}
	got, _ := parseInt(o.value)
	if field != nil && *field != got {
		b.contradict(flags[id].setting, fmt.Sprint(*field), o)
	}
	return &got, true
}

func (b *builder) size(id flagID, field *int64, absent int64) int64 {
	switch n, known := b.number(id, field); {
	case n != nil:
		return *n
	case known:
		return absent
	}
	return 0
}

func (b *builder) optional(id flagID, field *int64) *int64 {
	n, _ := b.number(id, field)
	return n
}

func (b *builder) on(id flagID) bool {
	return b.args != nil && b.args.flags[id].on
}

// contradict reports a field that says otherwise than the command.
func (b *builder) contradict(setting, field string, o occurrence) {
	b.fail(setting, fmt.Sprintf("%s is %s, but the command at %s gives %s %s", setting, field, b.args.place(o),
		o.spelled, showText(b.unknowns.Reveal(o.value))))
}

// fail keeps the first contradiction.
func (b *builder) fail(setting, detail string) {
	if b.err == nil {
		b.err = &Error{
			Code: CodeContradiction, Pointer: "/" + strings.ReplaceAll(setting, ".", "/"),
			Detail: detail + "; remove one of them or make them equal",
		}
	}
}

// place is the JSON pointer of an argument.
func (a *arguments) place(o occurrence) string {
	if a.program.Scripted {
		return commandPointer(a.program.Index)
	}
	return commandPointer(a.program.Index + a.offset + o.at)
}

// dataBackend reads --data-parallel-backend.
func (b *builder) dataBackend() {
	o, reason := b.given(flagDataBackend)
	switch {
	case reason != "" && b.engine.Data == 1: // a single replica needs no backend
	case reason != "":
		b.unresolve(flags[flagDataBackend].setting, reason)
	case o.given && o.value != "mp" && o.value != "ray":
		b.refuse(topology.Refusal{
			Check: checkParallel, Setting: o.spelled, Value: shorten(o.value),
			Reason: "data_parallel_backend can only be ray or mp",
			Fix:    "write " + o.spelled + " mp or " + o.spelled + " ray",
		})
	case o.given:
		b.engine.DataBackend = o.value
	}
}

// dataFromEnv reads VLLM_DP_SIZE and VLLM_DP_RANK, which vLLM looks at only where the configuration gives no
// replicas.
func (b *builder) dataFromEnv(field *int64) {
	e := b.engine
	if e.Data != 1 || e.DataLocal != nil && *e.DataLocal == 0 {
		return
	}
	n, ok := b.envInt("VLLM_DP_SIZE", topology.SettingData, checkParallel)
	switch {
	case !ok:
		e.Data = 0
	case n == nil || *n == 1:
	case field != nil:
		b.fail(topology.SettingData, fmt.Sprintf("%s is 1, but engine.env.VLLM_DP_SIZE is %d, which vLLM then takes",
			topology.SettingData, *n))
	default:
		e.Data = *n
		if e.DataRank == nil {
			e.DataRank, _ = b.envInt("VLLM_DP_RANK", topology.SettingDataRank, checkParallel)
		}
	}
}

// envInt reads a variable that vLLM takes for a number; nil where it is not set, false where its value is not known.
func (b *builder) envInt(name, setting, check string) (*int64, bool) {
	text, set := b.env(name)
	if !set {
		return nil, true
	}
	if reason := b.unknowns.Reason(text); reason != "" {
		b.unresolve(setting, reason)
		return nil, false
	}
	n, ok := parseInt(text)
	if !ok {
		b.refuse(topology.Refusal{
			Check: check, Setting: name, Value: shorten(text),
			Reason: "the variable is not a number", Fix: "set " + name + " to a whole number or remove it",
		})
		b.unresolve(setting, "the value of "+name+" cannot be read")
		return nil, false
	}
	return &n, true
}
