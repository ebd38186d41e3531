package decisionlog

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tiergate/tiergate/topology"
)

// json masks the scalars below keys that name secrets and what is secret in other strings. All else stays byte for byte: what a
// rule says of a number or of the order of keys must not change. Text that is no JSON is masked as text.
func (m *masker) json(raw []byte) []byte {
	if !suspicious(raw) {
		return raw
	}
	w := &jsonMask{masker: m, raw: raw, decoder: jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))}
	if !w.value(false) {
		return []byte(m.text(string(raw)))
	}
	return append(w.out, raw[w.copied:]...)
}

// suspicions are parts of all names that secretName finds, in lower case; @ is behind the user of a URL.
var suspicions = [][]byte{
	[]byte("token"), []byte("secret"), []byte("passw"), []byte("credential"), []byte("access"), []byte("api"), []byte("private"),
	[]byte("auth"), []byte("@"),
}

// suspicious tells whether a text may hold a secret. It is quick, since most texts do not.
func suspicious(text []byte) bool {
	text = bytes.ToLower(text)
	return slices.ContainsFunc(suspicions, func(part []byte) bool { return bytes.Contains(text, part) })
}

// jsonMask copies a document up to each secret and puts a text in its place.
type jsonMask struct {
	*masker
	raw     []byte
	decoder *jsontext.Decoder
	out     []byte
	copied  int64
}

// value reads one value and tells whether it could be read.
func (w *jsonMask) value(secret bool) bool {
	switch w.decoder.PeekKind() {
	case '{', '[':
		return w.members(secret)
	case '"', '0':
		value, err := w.decoder.ReadValue()
		if err != nil {
			return false
		}
		end := w.decoder.InputOffset()
		w.scalar(value, end-int64(len(value)), end, secret)
		return true
	default:
		_, err := w.decoder.ReadToken()
		return err == nil
	}
}

func (w *jsonMask) members(secret bool) bool {
	open, err := w.decoder.ReadToken()
	object := err == nil && open.Kind() == '{'
	for err == nil && w.decoder.PeekKind() != '}' && w.decoder.PeekKind() != ']' {
		below := secret
		if object {
			var name jsontext.Token
			if name, err = w.decoder.ReadToken(); err != nil {
				return false
			}
			below = secret || topology.Credential(name.String())
		}
		if !w.value(below) {
			return false
		}
	}
	_, err = w.decoder.ReadToken()
	return err == nil
}

func (w *jsonMask) scalar(value jsontext.Value, start, end int64, secret bool) {
	text := value.String()
	if value.Kind() == '"' {
		unquoted, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return
		}
		text = string(unquoted)
	}
	masked := text
	switch {
	case secret && text != "" && !strings.HasPrefix(text, "$"):
		masked = w.hide(text)
	case value.Kind() == '"':
		masked = w.text(text)
	}
	if masked == text {
		return
	}
	w.out = append(w.out, w.raw[w.copied:start]...)
	w.out, _ = jsontext.AppendQuote(w.out, masked) // what was unquoted can be quoted
	w.copied = end
}
