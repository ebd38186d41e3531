package vllm

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/vllm/internal/shell"
)

// transfer works out the KV transfer configuration that the engine would run with. Where it cannot be known, or vLLM
// would not read it, SettingTransfer is unresolved, so that nothing is concluded from its absence.
func (b *builder) transfer() topology.Transfer {
	root, given, known := b.transferRoot()
	if !known {
		return topology.Transfer{Given: true}
	}
	size, ok := b.offloadingSize()
	if !ok {
		return topology.Transfer{Given: true}
	}
	if size != nil {
		given = true
		if !b.mergeOffloading(&root, *size) {
			return topology.Transfer{Given: true}
		}
	}
	if !given {
		return topology.Transfer{}
	}
	b.fieldID(root)
	if reason := b.undecided(&root, ""); reason != "" {
		b.unresolve(topology.SettingTransfer, reason)
		return topology.Transfer{Given: true}
	}
	t := topology.Transfer{Given: true, Connectors: make([]topology.Connector, 0, 1)}
	b.connectors(&t, &root, "kv_transfer", 0)
	return t
}

// fieldID takes the engine's id from the transfer configuration where the launch itself gives none.
func (b *builder) fieldID(root value) {
	if id := root.get("engine_id"); b.engine.ID == "" && id != nil && id.kind == '"' && !shell.IsUnknown(id.text) {
		b.engine.ID = id.text
	}
}

// transferRoot reads the configuration as it is given, before --kv-offloading-size changes it. given is false where
// there is none, known is false where it cannot be read.
func (b *builder) transferRoot() (root value, given, known bool) {
	field, fromField, ok := b.transferField()
	if !ok {
		return value{}, true, false
	}
	command, fromCommand, reason := b.transferArgument()
	switch {
	case reason == "" && fromCommand && fromField:
		b.compareTransfer(&field, &command)
		return command, true, true
	case reason == "" && fromCommand:
		return command, true, true
	case fromField:
		return field, true, true
	case reason != "":
		b.unresolve(topology.SettingTransfer, reason)
		return value{}, true, false
	}
	return value{kind: '{'}, false, true
}

func (b *builder) transferField() (v value, given, ok bool) {
	raw := b.launch.Engine.KVTransfer
	if len(raw) == 0 || string(raw) == "null" {
		return value{}, false, true
	}
	v, err := parse(raw)
	if err != nil {
		b.refuseTransfer(topology.SettingTransfer, string(raw), err)
		return value{}, true, false
	}
	if v.kind != '{' {
		b.refuseTransfer(topology.SettingTransfer, string(raw), errNoObject)
		return value{}, true, false
	}
	return v, true, true
}

var errNoObject = errors.New("not an object")

// transferArgument reads --kv-transfer-config in its plain or dotted form. The reason is empty where it is known.
func (b *builder) transferArgument() (v value, given bool, reason string) {
	if b.args == nil {
		return value{}, false, ""
	}
	if b.args.unseen != "" {
		// Dotted keys go to the end of the command line, so that unseen ones would replace whatever is given here.
		return value{}, true, b.args.unseen
	}
	if n := len(b.args.dotted); n > 0 {
		return b.args.dotted[n-1].object, true, ""
	}
	o := b.args.flags[flagTransfer]
	if !o.given || isNone(o.value) {
		return value{}, false, ""
	}
	source := o.value
	if isVersion(b.engine.Version, 0, 22) {
		source = expandUnits(source)
	}
	v, err := parse([]byte(source))
	if err == nil && v.kind != '{' {
		err = errNoObject
	}
	if err == nil {
		return v, true, ""
	}
	if reason := b.unknowns.Reason(readBefore(source, err)); reason != "" {
		return value{}, true, reason
	}
	b.refuseTransfer(o.spelled, b.unknowns.Reveal(o.value), err)
	return value{}, true, "its value cannot be read"
}

// readBefore is the text that a parser had seen when it failed: an unknown part behind it would not have saved it.
func readBefore(source string, err error) string {
	var failure *syntaxError
	if errors.As(err, &failure) && failure.at < int64(len(source)) {
		return source[:failure.at] + string([]rune(source[failure.at:])[:1])
	}
	return source
}

// isNone tells the two values that vLLM reads as no value at all.
func isNone(text string) bool { return text == "" || text == "None" }

// refuseTransfer reports a configuration that is no JSON object, with what most often breaks one.
func (b *builder) refuseTransfer(setting, text string, err error) {
	b.refuse(topology.Refusal{
		Check: checkOffload, Setting: setting, Value: showText(text), Reason: err.Error(),
		Fix: jsonFix(strings.TrimSpace(text)),
	})
	b.unresolve(topology.SettingTransfer, "its value cannot be read")
}

func jsonFix(text string) string {
	switch {
	case strings.HasPrefix(text, `'`) || strings.HasPrefix(text, `"`):
		return "take the outer quotes away: without a shell they are part of the value"
	case strings.Contains(text, `\"`):
		return `take the backslashes away: they are part of the value here`
	case strings.HasPrefix(text, "{") && strings.Contains(text, ":") && !strings.Contains(text, `"`):
		return "give the keys and texts their double quotes back; a shell takes them away unless the whole value is " +
			"in single quotes"
	}
	return "write one JSON object with each key once, in single quotes where a shell reads it"
}

// offloadingSize reads --kv-offloading-size in GiB: nil where it is not given.
func (b *builder) offloadingSize() (*float64, bool) {
	if b.args == nil {
		return nil, true
	}
	o := b.args.flags[flagOffloadingSize]
	if !o.given || isNone(o.value) {
		return nil, true
	}
	if reason := b.unknowns.Reason(o.value); reason != "" {
		b.unresolve(topology.SettingTransfer, reason)
		return nil, false
	}
	if o.refused {
		b.unresolve(topology.SettingTransfer, "the value of "+o.spelled+" cannot be read")
		return nil, false
	}
	size, _ := parseFloat(o.value)
	return &size, true
}

// mergeOffloading changes the configuration as --kv-offloading-size does: it overwrites connector and role and sets
// the bytes, and keeps every other key.
func (b *builder) mergeOffloading(root *value, gib float64) bool {
	connector, native, ok := b.offloadingConnector()
	if !ok {
		return false
	}
	root.put("kv_connector", value{kind: '"', text: connector})
	root.put("kv_role", value{kind: '"', text: "kv_both"})
	if !native {
		return true
	}
	extra := root.get(keyExtra)
	if extra == nil {
		root.put(keyExtra, value{kind: '{'})
		extra = root.get(keyExtra)
	}
	if extra.kind == '{' {
		extra.put(keyBytes, value{kind: '0', text: writeNumber(gib * (1 << 30))})
	}
	return true
}

// offloadingBackends are the values of --kv-offloading-backend with the connector that they stand for. lmcache_mp is
// in tests of versions after 0.33.
var offloadingBackends = map[string]string{
	"native": "OffloadingConnector", "lmcache": "LMCacheMPConnector", "lmcache_mp": "LMCacheMPConnector",
}

// offloadingConnector is the connector that --kv-offloading-backend stands for, and whether it is one of vLLM's own,
// which gets the size.
func (b *builder) offloadingConnector() (name string, native, ok bool) {
	o := b.args.flags[flagOffloadingBackend]
	reason := b.unknowns.Reason(o.value)
	if o.refused {
		reason = "the value of " + o.spelled + " cannot be read"
	}
	switch {
	case reason != "":
		b.unresolve(topology.SettingTransfer, reason)
		return "", false, false
	case !o.given || o.value == "native":
		simple, ok := b.simpleOffload()
		if simple {
			return "SimpleCPUOffloadConnector", true, ok
		}
		return offloadingBackends["native"], true, ok
	case o.value == "lmcache" && !isVersion(b.engine.Version, 0, 23):
		return "LMCacheConnectorV1", false, true
	}
	return offloadingBackends[o.value], false, true
}

// simpleOffload reads VLLM_USE_SIMPLE_KV_OFFLOAD, a number that is true unless it is 0.
func (b *builder) simpleOffload() (simple, ok bool) {
	n, ok := b.envInt("VLLM_USE_SIMPLE_KV_OFFLOAD", topology.SettingTransfer, checkOffload)
	return n != nil && *n != 0, ok
}

// writeNumber writes bytes without an exponent where they are whole.
func writeNumber(f float64) string {
	if f == math.Trunc(f) {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
