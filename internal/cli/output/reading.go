package output

import (
	"fmt"
	"strings"

	"github.com/tiergate/tiergate/topology"
)

// reading is how the configuration of an engine was understood, line by line.
func reading(f *topology.Facts) [][2]string {
	e := &f.Engine
	lines := [][2]string{
		{"version", e.Version},
		{"parallel", parallel(e)},
		{"executor", executor(e)},
		{"nnodes", nnodes(e)},
		{"offload", offload(f.Transfer)},
		{"placement", placement(&f.Placement)},
	}
	for _, u := range e.Unresolved {
		lines = append(lines, [2]string{"unresolved", u.Setting + ": " + u.Reason})
	}
	for _, r := range e.Refusals {
		lines = append(lines, [2]string{"refused", fmt.Sprintf("%s %s: %s", r.Setting, r.Value, r.Reason)})
	}
	return lines
}

func parallel(e *topology.EngineFacts) string {
	var parts []string
	for _, size := range []struct {
		name  string
		value *int64
	}{
		{"tensor", e.Parallel.Tensor},
		{"pipeline", e.Parallel.Pipeline},
		{"prefill_context", e.Parallel.PrefillContext},
		{"decode_context", e.Parallel.DecodeContext},
		{"data", e.Parallel.Data},
		{"data_local", e.Parallel.DataLocal},
	} {
		switch {
		case size.value == nil && size.name != "data_local":
			parts = append(parts, size.name+" unknown")
		case size.value != nil && (*size.value != 1 || size.name == "tensor"):
			parts = append(parts, fmt.Sprintf("%s %d", size.name, *size.value))
		}
	}
	text := strings.Join(parts, ", ")
	if e.WorldSize != nil {
		text += fmt.Sprintf(" (world size %d)", *e.WorldSize)
	}
	return text
}

func executor(e *topology.EngineFacts) string {
	switch {
	case e.Executor == "":
		return "unknown"
	case e.ExecutorGiven:
		return e.Executor
	default:
		return e.Executor + " (vLLM's default here)"
	}
}

func nnodes(e *topology.EngineFacts) string {
	if e.Nnodes == nil {
		return "unknown"
	}
	text := fmt.Sprint(*e.Nnodes)
	if e.NodeRank != nil && *e.Nnodes != 1 {
		text += fmt.Sprintf(", this is node %d", *e.NodeRank)
	}
	if e.Headless {
		text += ", headless"
	}
	return text
}

func offload(t *topology.Transferred) string {
	switch {
	case t == nil:
		return "unknown"
	case !t.Given:
		return "none"
	}
	parts := make([]string, 0, len(t.Connectors))
	for _, c := range t.Connectors {
		text := c.Name
		if c.Spec != "" {
			text += " with " + c.Spec
		}
		if c.CPUBytes > 0 {
			text += ", " + sizeText(c.CPUBytes) + " of memory"
		}
		if c.Tiered {
			text += ", secondary tiers"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func placement(p *topology.Placed) string {
	sources := map[string]string{
		topology.SourceWorkers:   "as the launch lists its workers",
		topology.SourceBlocks:    "equal blocks of ranks per node, as mp with nnodes does",
		topology.SourceDataLocal: "whole replicas per host, by data_parallel_size_local",
		topology.SourceOneHost:   "all ranks on one host",
	}
	if text, known := sources[p.Source]; known && p.Known {
		return text
	}
	return "unknown"
}

// sizeText writes a size with the largest unit of which it has at least one.
func sizeText(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
