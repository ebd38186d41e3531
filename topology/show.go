package topology

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxShownValue is how many bytes of a value are shown.
const maxShownValue = 40

// What is shown in place of a value.
const (
	absentValue = "absent"
	maskedValue = "a value that is not shown"
)

// secretParts are parts, and secretEnds ends, of the names of keys that hold credentials.
var (
	secretParts = [...]string{"secret", "passw", "credential", "access_key", "api_key", "apikey", "private_key"}
	secretEnds  = [...]string{"token", "auth", "authorization"}
)

// Credential tells whether a configuration key names a secret, whose value must not be shown or passed on, e.g. access_key,
// secret_key and session_token of an object store.
func Credential(key string) bool {
	key = strings.ReplaceAll(strings.ToLower(key), "-", "_")
	for _, part := range secretParts {
		if strings.Contains(key, part) {
			return true
		}
	}
	for _, end := range secretEnds {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return false
}

// MentionsCredential tells whether free text may hold one, by the names in it.
func MentionsCredential(text string) bool {
	return Credential(text) || strings.Contains(strings.ToLower(text), "token")
}

// contrast writes two values for people, unless that would show a secret or say nothing.
func contrast(this, first any, secret bool) string {
	a, b := show(this, secret), show(first, secret)
	if a == b {
		return "the values differ in a part that is not shown"
	}
	return a + ", not " + b
}

// show writes a value for people. Objects and lists are only counted: what is in them may be secret under any name.
func show(value any, secret bool) string {
	switch v := value.(type) {
	case absent:
		return absentValue
	case map[string]any:
		return fmt.Sprintf("an object of %d keys", len(v))
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	}
	if secret {
		return maskedValue
	}
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		// An address may carry a user's password or a signature.
		if strings.Contains(v, "://") && strings.ContainsAny(v, "@?") {
			return maskedValue
		}
		return strconv.Quote(shorten(v))
	default:
		return shorten(fmt.Sprint(v))
	}
}

// shorten cuts a long text at a character boundary.
func shorten(text string) string {
	if len(text) <= maxShownValue {
		return text
	}
	cut := maxShownValue
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
