package output

import (
	"encoding/json"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Result is the answer about one input: a verdict, or the failure that stood in its way.
type Result struct {
	// Source is where the input came from, e.g. engine.yaml or lws.yaml#LeaderWorkerSet/vllm/leader.
	Source string
	// Launch is nil where the input could not be read.
	Launch *v1.Launch
	// JSON is the verdict as the engine or the service wrote it, which may have members that Verdict has not.
	JSON    json.RawMessage
	Verdict *v1.Verdict
	// Failure is set instead of the verdict.
	Failure *Failure
}

// Failure says why an input has no verdict.
type Failure struct {
	// Code is stable and meant for programs.
	Code   string `json:"code"`
	Detail string `json:"detail"`
	// Pointer is the JSON pointer of the offending value in the input.
	Pointer string `json:"pointer,omitempty"`
	// Line and Column count from 1 in the file, or in the script that the pointer names; 0 where they are not known.
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Nearest string `json:"nearest,omitempty"`
}

// Document is the form of a result for programs.
type Document struct {
	Source  string          `json:"source"`
	Verdict json.RawMessage `json:"verdict,omitempty"`
	Error   *Failure        `json:"error,omitempty"`
}

func documentOf(r Result) Document {
	return Document{Source: r.Source, Verdict: r.JSON, Error: r.Failure}
}

func documents(results []Result) []any {
	list := make([]any, len(results))
	for i, r := range results {
		list[i] = documentOf(r)
	}
	return list
}
