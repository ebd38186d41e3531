package vllm

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/vllm/internal/shell"
)

// The keys of a transfer configuration that are read here.
const (
	keyConnector = "kv_connector"
	keyExtra     = "kv_connector_extra_config"
	keyModule    = "kv_connector_module_path"
	keyChildren  = "connectors"
	keySpec      = "spec_name"
	keySpecPath  = "spec_module_path"
	keyTiers     = "secondary_tiers"
	keyBytes     = "cpu_bytes_to_use"
)

// The specs whose keys are known: vLLM's own and ours, which extends vLLM's tiered one.
const (
	specCPU     = "CPUOffloadingSpec"
	specTiering = "TieringOffloadingSpec"
	specGuarded = "GuardedTieringOffloadingSpec"
	guardModule = "tiergate.vllm"
)

// usualConfig is the size of a configuration with a tier or two. Bytes.
const usualConfig = 512

// maxConnectors and maxLevels bound MultiConnectors inside MultiConnectors; no engine has more than a few.
const (
	maxConnectors = 256
	maxLevels     = 8
)

// connectors appends a connector and, behind a MultiConnector, its children.
func (b *builder) connectors(t *topology.Transfer, v *value, path string, level int) {
	c := topology.Connector{Path: path, Config: v.canonical(make([]byte, 0, usualConfig), true)}
	name, extra := v.get(keyConnector), v.get(keyExtra)
	switch {
	case v.kind != '{':
		b.refuseKey(path, v, "a connector is an object")
	case name != nil && name.kind != '"' && name.kind != 'n':
		b.refuseKey(path+"."+keyConnector, name, "a connector's name is a text")
	case extra != nil && extra.kind != '{':
		b.refuseKey(path+"."+keyExtra, extra, "the extra configuration is an object")
	}
	if name != nil && name.kind == '"' {
		c.Name = name.text
	}
	tiers := extra.get(keyTiers)
	c.Tiered = tiers != nil && tiers.kind != 'n' && (tiers.kind != '[' || len(tiers.items) > 0)
	c.CPUBytes = bytesOf(extra.get(keyBytes))
	if c.Name == "OffloadingConnector" {
		c.Spec, c.Native = specOf(v, extra)
	}
	t.Connectors = append(t.Connectors, c)
	if c.Name == "MultiConnector" {
		b.children(t, extra.get(keyChildren), path+"."+keyExtra+"."+keyChildren, level)
	}
}

func (b *builder) children(t *topology.Transfer, list *value, path string, level int) {
	if list == nil || list.kind != '[' {
		b.refuseKey(path, list, "a MultiConnector needs a list of connectors")
		return
	}
	if level == maxLevels || len(t.Connectors)+len(list.items) > maxConnectors {
		b.refuseKey(path, nil, fmt.Sprintf("more than %d connectors, or nested more than %d deep", maxConnectors,
			maxLevels))
		b.unresolve(topology.SettingTransfer, path+" is not read to its end")
		return
	}
	for i := range list.items {
		b.connectors(t, &list.items[i], path+"["+strconv.Itoa(i)+"]", level+1)
	}
}

// refuseKey reports a value of the wrong type inside a transfer configuration.
func (b *builder) refuseKey(path string, v *value, reason string) {
	shown := "absent"
	if v != nil {
		shown = shorten(string(v.canonical(nil, true)))
	}
	b.refuse(topology.Refusal{
		Check: checkOffload, Setting: path, Value: shown, Reason: reason,
		Fix: "correct " + path + " or remove it",
	})
}

// specOf is the offloading spec of a connector, and whether its keys are known. vLLM loads a spec by its module only
// if the name is none of its own.
func specOf(v, extra *value) (string, bool) {
	spec := specCPU
	switch name := extra.get(keySpec); {
	case name == nil:
	case name.kind == '"':
		spec = name.text
	default:
		spec = string(name.canonical(nil, true))
	}
	if module := v.get(keyModule); module != nil && module.kind != 'n' {
		return spec, false
	}
	module := extra.get(keySpecPath)
	guarded := spec == specGuarded && module != nil && module.kind == '"' && module.text == guardModule
	return spec, spec == specCPU || spec == specTiering || guarded
}

// bytesOf reads cpu_bytes_to_use as vLLM's int does: a number, or a text of digits. Anything else, and what is not
// above 0, is 0; a number beyond 64 bits is the largest there is, which fits nowhere.
func bytesOf(v *value) int64 {
	var f float64
	switch {
	case v == nil:
	case v.kind == '0':
		f, _ = strconv.ParseFloat(v.text, 64)
		if n, err := strconv.ParseInt(v.text, 10, 64); err == nil {
			return max(n, 0)
		}
	case v.kind == '"':
		n, _ := parseInt(v.text)
		return max(n, 0)
	}
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return max(int64(f), 0)
}

// free are the keys whose text may be unknown without anything here depending on it: addresses, places and names that
// differ between pods.
var free = strings.Fields(`
	access_key bucket ca_bundle control_advertise_host control_host endpoint_override engine_id host kv_ip
	kvcr_service_socket_path prefix region root_dir secret_key session_token`)

// undecided finds an unknown text on which the meaning of the configuration may depend, and gives its reason. One
// that does not matter is written as the source spells it.
func (b *builder) undecided(v *value, key string) string {
	if shell.IsUnknown(v.text) {
		if !slices.Contains(free, key) {
			return b.unknowns.Reason(v.text)
		}
		v.text = b.unknowns.Reveal(v.text)
	}
	for i := range v.members {
		if reason := b.unknowns.Reason(v.members[i].name); reason != "" {
			return reason
		}
		if reason := b.undecided(&v.members[i].value, v.members[i].name); reason != "" {
			return reason
		}
	}
	for i := range v.items {
		if reason := b.undecided(&v.items[i], ""); reason != "" {
			return reason
		}
	}
	return ""
}
