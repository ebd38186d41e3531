package vllm

import "strings"

// secretWords are parts, and secretEnds ends, of the names of keys that hold credentials.
var (
	secretWords = strings.Fields("secret password passwd credential access_key api_key apikey private_key")
	secretEnds  = strings.Fields("token auth authorization")
)

// isCredential tells whether the value of a key must not be shown or passed on.
func isCredential(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	for _, end := range secretEnds {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// showText shortens a text for a message, unless it may hold a credential.
func showText(text string) string {
	lower := strings.ReplaceAll(strings.ToLower(text), "-", "_")
	for _, word := range secretWords {
		if strings.Contains(lower, word) {
			return "(not shown: it holds credentials)"
		}
	}
	if strings.Contains(lower, "token") {
		return "(not shown: it holds credentials)"
	}
	return shorten(text)
}
