package v1

import (
	"bytes"
	"encoding/json"
	"strings"
)

// NeedsGate tells whether an engine must be admitted before its KV caches are registered: it has more than one worker and
// may have secondary tiers. It is pure, so that a worker without tiers starts whether or not a service is there. What
// cannot be read counts as tiers, because the opposite mistake corrupts answers silently (vllm 54415).
func NeedsGate(e *Engine) bool {
	return manyWorkers(e) && (transferTiered(e.KVTransfer) || commandTiered(e.Command))
}

// manyWorkers is false only for sizes that are known to make one worker. A command may change any size.
func manyWorkers(e *Engine) bool {
	if len(e.Command) > 0 || e.Parallel == nil {
		return true
	}
	for _, size := range [...]*int64{e.Parallel.Tensor, e.Parallel.Pipeline, e.Parallel.PrefillContext} {
		if size != nil && *size != 1 {
			return true
		}
	}
	return false
}

// transferTiered looks for secondary tiers at any depth, so that children of a MultiConnector count wherever they stand.
// A connector that --kv-offloading-size adds keeps the other keys of the configuration, tiers included.
func transferTiered(raw json.RawMessage) bool {
	if len(bytes.TrimSpace(raw)) == 0 {
		return false
	}
	var tree any
	if json.Unmarshal(raw, &tree) != nil {
		return true
	}
	switch tree.(type) {
	case nil, map[string]any:
		return treeTiered(tree)
	}
	return true
}

func treeTiered(tree any) bool {
	switch v := tree.(type) {
	case map[string]any:
		for key, value := range v {
			if key == "secondary_tiers" && present(value) || treeTiered(value) {
				return true
			}
		}
	case []any:
		for _, value := range v {
			if treeTiered(value) {
				return true
			}
		}
	}
	return false
}

// present is false for null and an empty list; anything else, of whatever type, is for the service to judge.
func present(tiers any) bool {
	list, isList := tiers.([]any)
	return tiers != nil && (!isList || len(list) > 0)
}

// commandTiered is false only for a command that plainly has no tiers: what a shell, a file or a variable may add counts
// as one. The size of --kv-offloading-size alone brings none.
func commandTiered(command []string) bool {
	for i, argument := range command {
		if strings.ContainsAny(argument, "$`") {
			return true
		}
		name, value, joined := strings.Cut(argument, "=")
		switch name = strings.ReplaceAll(name, "_", "-"); {
		case name == "--config":
			return true
		case name == "--kv-transfer-config" && joined:
		case name == "--kv-transfer-config" && i+1 < len(command):
			value = command[i+1]
		case strings.HasPrefix(name, "--kv-t"): // an abbreviation, or a key by its dotted path
			return true
		default:
			continue
		}
		if transferTiered(json.RawMessage(value)) {
			return true
		}
	}
	return false
}
