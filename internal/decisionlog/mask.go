package decisionlog

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// masker replaces the secrets of one launch. Equal secrets get equal texts, so that a rule that compares two values, as
// consistency.config does, comes to the same verdict on what is left.
type masker struct {
	seen   map[string]string
	places []string
}

// Mask returns a launch without secrets and the pointers of where they were; without any it is the launch itself, which is
// never changed. Secrets are the values of keys, variables and flags that topology.Credential knows, and the users of URLs.
func Mask(launch *v1.Launch) (*v1.Launch, []string) {
	m := &masker{seen: map[string]string{}}
	out := *launch
	out.Engine.Command = m.command(launch.Engine.Command)
	out.Engine.Env = m.env(launch.Engine.Env)
	out.Engine.KVTransfer = m.document("/input/engine/kv_transfer", launch.Engine.KVTransfer)
	for i, w := range launch.Workers {
		if w.Config == nil || len(w.Config.KVTransfer) == 0 {
			continue
		}
		at := "/input/workers/" + strconv.Itoa(i) + "/config/kv_transfer"
		masked := m.document(at, w.Config.KVTransfer)
		if bytes.Equal(masked, w.Config.KVTransfer) {
			continue
		}
		if &out.Workers[0] == &launch.Workers[0] {
			out.Workers = slices.Clone(launch.Workers)
		}
		config := *w.Config
		config.KVTransfer = masked
		out.Workers[i].Config = &config
	}
	if len(m.places) == 0 {
		return launch, nil
	}
	return &out, m.places
}

// hide is the text in place of a secret.
func (m *masker) hide(secret string) string {
	text, known := m.seen[secret]
	if !known {
		text = maskedPrefix + strconv.Itoa(len(m.seen)+1)
		m.seen[secret] = text
	}
	return text
}

const maskedPrefix = "MASKED-"

// note keeps where something was masked.
func (m *masker) note(at string) {
	if len(m.places) == 0 || m.places[len(m.places)-1] != at {
		m.places = append(m.places, at)
	}
}

func (m *masker) env(env map[string]string) map[string]string {
	out := env
	for _, name := range slices.Sorted(maps.Keys(env)) {
		masked := m.text(env[name])
		if topology.Credential(name) && env[name] != "" {
			masked = m.hide(env[name])
		}
		if masked == env[name] {
			continue
		}
		if len(m.places) == 0 || !strings.HasPrefix(m.places[len(m.places)-1], "/input/engine/env/") {
			out = maps.Clone(env)
		}
		out[name] = masked
		m.note("/input/engine/env/" + escapePointer.Replace(name))
	}
	return out
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// command masks what follows a flag that names a secret, up to the next flag, and what is secret in every argument.
func (m *masker) command(args []string) []string {
	out, secret := args, false
	for i, arg := range args {
		masked := arg
		switch flag := strings.HasPrefix(arg, "-"); {
		case !flag && secret:
			masked = m.value(arg)
		default:
			secret = flag && secretFlag(arg)
			masked = m.argument(arg)
		}
		if masked == arg {
			continue
		}
		if &out[0] == &args[0] {
			out = slices.Clone(args)
		}
		out[i] = masked
		m.note("/input/engine/command/" + strconv.Itoa(i))
	}
	return out
}

// argument masks a configuration key by key, and any other text by what stands before the values.
func (m *masker) argument(arg string) string {
	if strings.HasPrefix(arg, "{") && json.Valid([]byte(arg)) {
		return string(m.json([]byte(arg)))
	}
	return m.text(arg)
}

// document masks a configuration.
func (m *masker) document(at string, raw json.RawMessage) json.RawMessage {
	out := json.RawMessage(m.json(raw))
	if !bytes.Equal(out, raw) {
		m.note(at)
	}
	return out
}
