package host

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The inputs of the benchmarks: a launch that passes, whose verdict consists of constants, and one that fails.
func verdicts(tb testing.TB) map[string][]byte {
	tb.Helper()
	facts, err := os.ReadFile("testdata/facts.json")
	require.NoError(tb, err)
	const spanning = `"spanning":[{"ranks":[0,1],"placed":"rank 0 on gpu-a, rank 1 on gpu-b","nodes":["gpu-a","gpu-b"]}]`
	denied := strings.Replace(string(facts), `"spanning":[]`, spanning, 1)
	require.NotEqual(tb, string(facts), denied)
	return map[string][]byte{"allow": facts, "deny": []byte(denied)}
}

func BenchmarkEvaluation(b *testing.B) {
	sources, data := checksLike()
	in := load(b, string(data), []string{"tiergate/verdict"}, sources...)
	for name, input := range verdicts(b) {
		b.Run(name, func(b *testing.B) {
			var out []byte
			var err error
			b.ReportAllocs()
			for b.Loop() {
				if out, _, err = in.Eval(context.Background(), 0, input, out[:0]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(out)), "result-bytes")
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	facts, err := os.ReadFile("testdata/facts.json")
	require.NoError(b, err)
	in := load(b, `{}`, []string{"p/q"}, "package p\nq := 1")
	many := "[" + strings.Repeat(string(facts)+",", 60) + "0]"
	for _, text := range [][]byte{facts, []byte(many)} {
		b.Run(fmt.Sprintf("%dB", len(text)), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := in.enc.encode(in.heap, text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	sources, data := checksLike()
	in := load(b, string(data), []string{"tiergate/verdict"}, sources...)
	for name, input := range verdicts(b) {
		b.Run(name, func(b *testing.B) {
			in.begin(context.Background())
			addr, end, err := in.enc.encode(in.heap, input)
			require.NoError(b, err)
			_, err = in.run(0, addr, end)
			require.NoError(b, err)
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				if out, err = in.dec.decode(in.memory(), in.binding(), out[:0]); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(out)))
		})
	}
}

func checksLike() (sources []string, data []byte) {
	var list, docs strings.Builder
	for i, id := range strings.Fields("tiering.node_local tiering.core_local tiering.mirror tiering.config " +
		"offload.config offload.waste parallel.config topology.ranks capacity.shm capacity.stale_regions " +
		"consistency.versions consistency.config") {
		sources = append(sources, fmt.Sprintf("package tiergate.checks.%s\n", id)+`
default applies := false

applies if input.transfer.tiered

violations contains {"message": $"tp group {g.ranks} spans {g.placed}", "nodes": g.nodes, "fix": "x"} if {
	some g in input.groups.tp.spanning
}

unknown contains fact if some fact in input.placement.missing
`)
		doc := "data.tiergate.checks." + id
		fmt.Fprintf(&list, "result(%q, %s.applies, %s.violations, %s.unknown),\n", id, doc, doc, doc)
		if i > 0 {
			docs.WriteString(",")
		}
		constant := func(outcome string) string {
			return fmt.Sprintf(`{"id": %q, "outcome": %q, "enforcement": "deny", "violations": []}`, id, outcome)
		}
		fmt.Fprintf(&docs, `%q: {"passed": %s, "skipped": %s}`, id, constant("pass"), constant("not_applicable"))
	}
	sources = append(sources, "package tiergate\n\nresults := ["+list.String()+`]

result(id, false, _, _) := data.checks[id].skipped
result(id, true, violations, unknown) := data.checks[id].passed if {
	count(violations) == 0
	count(unknown) == 0
}
result(id, true, violations, unknown) := {"id": id, "outcome": "fail", "violations": violations} if {
	count(violations) > 0
}
result(id, true, violations, unknown) := {"id": id, "outcome": "unknown", "violations": [], "missing": unknown} if {
	count(violations) == 0
	count(unknown) > 0
}
default outcome := "allow"
outcome := "deny" if { some r in results; r.outcome == "fail" }
verdict := {"outcome": outcome, "checks": results}
`)
	return sources, []byte(`{"checks": {` + docs.String() + `}}`)
}
