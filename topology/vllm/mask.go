package vllm

import "github.com/tiergate/tiergate/topology"

// showText shortens a text for a message, unless it may hold a credential.
func showText(text string) string {
	if topology.MentionsCredential(text) {
		return "(not shown: it holds credentials)"
	}
	return shorten(text)
}
