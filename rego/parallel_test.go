package rego_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tiergate/tiergate/topology"
)

// TestParallelProperties compares parallel.config with the order in which vLLM itself checks, and its usual rule, which
// answers for most launches, with the rules that it stands for.
func TestParallelProperties(t *testing.T) {
	decide := prepare(t, `
		allowed := count(data.tiergate.checks.parallel.config.violations) == 0
		closely := count(data.tiergate.checks.parallel.config.violations) == 0 with data.tiergate.parallel.usual as false`)
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			engine := drawEngine(t)
			got, refusal := decide(t, map[string]any{"engine": engine}), vllmRefuses(engine)
			require.Equal(t, refusal == "", got["closely"], "vLLM: %q", refusal)
			require.Equal(t, refusal == "", got["allowed"], "the usual rule differs from the rules that it stands for")
		}
	})
}

// drawEngine draws what launches are like, and breaks each rule now and then.
func drawEngine(t *rapid.T) topology.EngineFacts {
	oneIn := func(n int, name string) bool { return rapid.IntRange(1, n).Draw(t, name) == n }
	size := func(name string, values ...int64) *int64 {
		if oneIn(100, name+" below 1") {
			return new(rapid.Int64Range(-1, 0).Draw(t, name))
		}
		return new(rapid.SampledFrom(values).Draw(t, name))
	}
	maybe := func(name string) *int64 {
		if !oneIn(5, name+" given") {
			return nil
		}
		return new(rapid.Int64Range(-1, 6).Draw(t, name))
	}
	e := topology.EngineFacts{
		Parallel: topology.ParallelFacts{
			Tensor: size("tensor", 1, 2, 3, 4, 6, 8), Pipeline: size("pipeline", 1, 1, 1, 2, 3),
			PrefillContext: size("prefill", 1, 1, 1, 1, 2), DecodeContext: size("decode", 1, 1, 1, 1, 2, 3, 4),
			Data: size("data", 1, 1, 1, 2, 3, 4, 6), DataLocal: maybe("data local"),
		},
		Executor: rapid.SampledFrom([]string{"mp", "mp", "mp", "uni", "ray", "external_launcher", "site.Executor"}).
			Draw(t, "executor"),
		DataBackend: rapid.SampledFrom([]string{"mp", "mp", "mp", "mp", "ray"}).Draw(t, "backend"),
		Nnodes:      size("nnodes", 1, 1, 1, 2, 2, 3, 4, 6), NodeRank: maybe("node rank"),
		DataRank: maybe("data rank"), DataStartRank: maybe("start rank"),
		ExternalLB: oneIn(12, "external"), HybridLB: oneIn(12, "hybrid"), Headless: oneIn(4, "headless"),
	}
	p := e.Parallel
	if *p.Tensor > 0 && *p.Pipeline > 0 && *p.PrefillContext > 0 {
		e.WorldSize = new(*p.Tensor * *p.Pipeline * *p.PrefillContext)
	}
	return e
}

// vllmRefuses follows EngineArgs.create_engine_config and ParallelConfig, and where they divide with floor, asks that
// nothing is left over. It returns the first reason, or "".
func vllmRefuses(e topology.EngineFacts) string {
	p := e.Parallel
	tp, pp, pcp, dcp, dp, nnodes := *p.Tensor, *p.Pipeline, *p.PrefillContext, *p.DecodeContext, *p.Data, *e.Nnodes
	external := e.ExternalLB || e.DataRank != nil
	switch {
	case tp < 1 || pp < 1 || pcp < 1 || dcp < 1 || dp < 1 || nnodes < 1 || p.DataLocal != nil && *p.DataLocal < 0:
		return "sizes"
	case e.Headless && e.HybridLB:
		return "hybrid and headless"
	case e.HybridLB && e.ExternalLB:
		return "hybrid and external"
	case e.DataBackend != "mp" && nnodes > 1:
		return "backend"
	case (tp*pp*pcp*dp)%nnodes != 0:
		return "nodes do not divide ranks"
	case e.NodeRank != nil && (*e.NodeRank < 0 || *e.NodeRank >= nnodes):
		return "node rank"
	case external && e.DataRank == nil && nnodes == 1:
		return "external without rank"
	case external && p.DataLocal != nil && *p.DataLocal != 1:
		return "external with local replicas"
	case !external && p.DataLocal == nil && nnodes == 1 && e.HybridLB:
		return "hybrid without local replicas"
	}
	local := dp
	switch {
	case external:
		local = 1
	case p.DataLocal != nil:
		local = *p.DataLocal
	case nnodes > 1:
		local = max(tp*pp*pcp*dp/nnodes/(tp*pp*pcp), 1)
	}
	return parallelConfigRefuses(e, local, external)
}

func parallelConfigRefuses(e topology.EngineFacts, local int64, external bool) string {
	p := e.Parallel
	tp, pp, pcp, dcp, dp, nnodes := *p.Tensor, *p.Pipeline, *p.PrefillContext, *p.DecodeContext, *p.Data, *e.Nnodes
	outside := func(rank *int64) bool { return rank != nil && dp > 1 && (*rank < 0 || *rank >= dp) }
	allowed := map[string]bool{"mp": true, "uni": true, "external_launcher": true}
	switch {
	case local > dp:
		return "more local replicas than replicas"
	case dp == 1 && external:
		return "external without replicas"
	case pcp > 1 && dp > 1:
		return "prefill context with replicas"
	case pcp == 1 && tp%dcp != 0, pcp > 1 && dcp != 1 && dcp != pcp && dcp != tp*pcp:
		return "decode context"
	case outside(e.DataRank) || outside(e.DataStartRank):
		return "replica"
	case nnodes > 1 && !allowed[e.Executor]:
		return "executor"
	case pp > 1 && e.Executor == "uni":
		return "pipeline"
	case local > 0 && dp%local != 0:
		return "replicas do not divide"
	case local > 0 && nnodes > 1 && nnodes%(dp/local) != 0:
		return "nodes do not divide by replicas"
	case local > 0 && nnodes > 1 && (tp*pp*pcp)%(nnodes/(dp/local)) != 0:
		return "ranks do not divide over nodes"
	}
	return ""
}
