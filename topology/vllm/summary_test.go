package vllm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
)

// summary writes an engine as the settings that differ from a plain one, then what is unresolved and what is refused,
// each on a line of its own.
func summary(e *topology.Engine) string {
	var parts []string
	add := func(name string, value, plain any) {
		if value != plain {
			parts = append(parts, fmt.Sprintf("%s=%v", name, value))
		}
	}
	optional := func(name string, value *int64) {
		if value != nil {
			parts = append(parts, fmt.Sprintf("%s=%d", name, *value))
		}
	}
	add("id", e.ID, "")
	add("tp", e.Tensor, int64(1))
	add("pp", e.Pipeline, int64(1))
	add("pcp", e.PrefillContext, int64(1))
	add("dcp", e.DecodeContext, int64(1))
	add("dp", e.Data, int64(1))
	optional("local", e.DataLocal)
	optional("dprank", e.DataRank)
	optional("dpstart", e.DataStartRank)
	add("dpbackend", e.DataBackend, "")
	add("external", e.ExternalLB, false)
	add("hybrid", e.HybridLB, false)
	add("nnodes", e.Nnodes, int64(1))
	add("rank", e.NodeRank, int64(0))
	add("headless", e.Headless, false)
	if e.ExecutorGiven {
		parts = append(parts, "executor="+e.Executor)
	}
	for _, c := range e.Transfer.Connectors {
		parts = append(parts, showConnector(c))
	}
	lines := []string{strings.Join(parts, " ")}
	for _, u := range e.Unresolved {
		lines = append(lines, "unresolved "+u.Setting+": "+u.Reason)
	}
	for _, r := range e.Refusals {
		lines = append(lines, fmt.Sprintf("refused by %s: %s %s: %s; %s", r.Check, r.Setting, r.Value, r.Reason, r.Fix))
	}
	return strings.Join(lines, "\n")
}

// showConnector is name/spec(cpu bytes), with a star where the spec is native and a plus where there are tiers.
func showConnector(c topology.Connector) string {
	out := c.Name
	if c.Spec != "" {
		out += "/" + c.Spec
	}
	if c.Native {
		out += "*"
	}
	if c.Tiered {
		out += "+"
	}
	if c.CPUBytes > 0 {
		out += fmt.Sprintf("(%d)", c.CPUBytes)
	}
	return out
}

func resolve(t testing.TB, launch *v1.Launch) *topology.Engine {
	t.Helper()
	e, err := Resolve(launch)
	require.NoError(t, err)
	return e
}

// serve is a launch of vllm serve with these arguments after the model.
func serve(args ...string) *v1.Launch {
	return &v1.Launch{Engine: v1.Engine{Command: append([]string{"vllm", "serve", "model-x"}, args...)}}
}

// script is a launch of a shell script.
func script(text string) *v1.Launch {
	return &v1.Launch{Engine: v1.Engine{Command: []string{"sh", "-c", text}}}
}

func number(n int64) *int64 { return &n }
