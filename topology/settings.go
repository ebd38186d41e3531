package topology

import "strings"

// The settings that Unresolved and Refusal may name, as paths of a launch document. The last three have no field there;
// only a command can give them.
const (
	SettingTensor         = "engine.parallel.tensor"
	SettingPipeline       = "engine.parallel.pipeline"
	SettingPrefillContext = "engine.parallel.prefill_context"
	SettingDecodeContext  = "engine.parallel.decode_context"
	SettingData           = "engine.parallel.data"
	SettingDataLocal      = "engine.parallel.data_local"
	SettingExecutor       = "engine.executor"
	SettingNnodes         = "engine.nnodes"
	SettingTransfer       = "engine.kv_transfer"
	SettingNodeRank       = "engine.node_rank"
	SettingDataRank       = "engine.data_rank"
	SettingDataStartRank  = "engine.data_start_rank"
)

// unresolved finds the entry for a setting, or for something inside it, and returns nil where the value is known.
func (e *Engine) unresolved(setting string) *Unresolved {
	for i := range e.Unresolved {
		inside, found := strings.CutPrefix(e.Unresolved[i].Setting, setting)
		if found && (inside == "" || inside[0] == '.' || inside[0] == '[') {
			return &e.Unresolved[i]
		}
	}
	return nil
}
