package admission_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// judge is the policy that ships.
var judge = sync.OnceValues(func() (*policy.Engine, error) {
	return policy.New(context.Background(), policy.Options{})
})

// places are what a rank on the place of that letter reports. A and B are two hosts; P and Q two pods of host A, each
// with its own /dev/shm; C and D two containers of host A that share one. Small letters withhold what would tell.
var places = map[byte]v1.NodeFacts{
	'A': {Node: "gpu-a", BootID: "boot-a", Shm: &v1.ShmFacts{Device: "0:27"}},
	'B': {Node: "gpu-b", BootID: "boot-b", Shm: &v1.ShmFacts{Device: "0:27"}},
	'P': {Node: "gpu-a", Pod: "decode-0", BootID: "boot-a", Shm: &v1.ShmFacts{Device: "0:61"}},
	'Q': {Node: "gpu-a", Pod: "decode-1", BootID: "boot-a", Shm: &v1.ShmFacts{Device: "0:62"}},
	'C': {Node: "gpu-a", Pod: "left", BootID: "boot-a", Shm: &v1.ShmFacts{Device: "0:61"}},
	'D': {Node: "gpu-a", Pod: "right", BootID: "boot-a", Shm: &v1.ShmFacts{Device: "0:61"}},
	'a': {Node: "gpu-a", Absent: []v1.AbsentFact{{Fact: "boot_id", Reason: "not mounted"}, {Fact: "shm", Reason: "not mounted"}}},
	'b': {Node: "gpu-b", Shm: &v1.ShmFacts{Device: "0:27"}},
}

// attempt is an engine whose ranks see the memory of the letters in mounts and report from the places of the letters in
// claims, one letter for each rank.
type attempt struct {
	tp, pp, pcp    int64
	claims, mounts string
	untiered       bool
	// change alters the reports, tamper the answers of a rank before they are judged.
	change func(reports []admission.Ranked)
	tamper func(rank int64, answers []v1.ProbeAnswer) []v1.ProbeAnswer
}

// result is how an attempt went. Opened lists by rank which leaders' segments it opened.
type result struct {
	reports   []admission.Ranked
	launch    *v1.Launch
	verdict   *v1.Verdict
	outcomes  map[int64][]v1.RankProbe
	opened    map[int64]string
	admission *v1.Admission
}

func pointer[T any](value T) *T { return &value }

const tiers = `{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {
	"spec_name": "TieringOffloadingSpec", "cpu_bytes_to_use": 4096, "secondary_tiers": [{"type": "fs", "root_dir": "/kv"}]}}`

func (a *attempt) grid() topology.Grid {
	return topology.Grid{Tensor: max(a.tp, 1), PrefillContext: max(a.pcp, 1), Pipeline: max(a.pp, 1), Data: 1}
}

func nonceOf(rank int64) []byte {
	return []byte(fmt.Sprintf("the random nonce of rank %d", rank))
}

// report is what a rank with this place reports.
func (a *attempt) report(rank int64) *v1.Report {
	grid := a.grid()
	r := &v1.Report{
		WorldSize: grid.Replica(), Groups: map[string][]int64{}, Facts: places[a.claims[rank]],
		Configuration: v1.Configuration{
			Version: "0.33.0", Executor: "external_launcher", KVTransfer: json.RawMessage(tiers),
			Parallel: &v1.Parallel{Tensor: &grid.Tensor, Pipeline: &grid.Pipeline, PrefillContext: &grid.PrefillContext},
		},
	}
	if a.untiered {
		r.Configuration.KVTransfer = nil
	}
	for _, kind := range []string{"tp", "pp", "pcp"} {
		lines := grid.Lines(kind)
		r.Groups[kind] = lines.Append(nil, lines.GroupOf(rank))
		if lines.Size > 1 && r.Groups[kind][0] == rank && r.Segment == nil {
			sum := sha256.Sum256(nonceOf(rank))
			r.Segment = &v1.Segment{Name: fmt.Sprint("tiergate-probe-", rank), SHA256: hex.EncodeToString(sum[:])}
		}
	}
	return r
}

// run has the attempt judged and every rank open what it is told to.
func (a *attempt) run(t require.TestingT, decide func(*v1.Launch) *v1.Verdict) *result {
	r := &result{outcomes: map[int64][]v1.RankProbe{}, opened: map[int64]string{}}
	for rank := range int64(len(a.claims)) {
		r.reports = append(r.reports, admission.Ranked{Rank: rank, Report: a.report(rank)})
	}
	if a.change != nil {
		a.change(r.reports)
	}
	r.launch = admission.Launch("engine-a", a.grid().Replica(), r.reports)
	r.verdict = decide(r.launch)
	reportOf := func(rank int64) *v1.Report { return r.reports[rank].Report }
	for _, own := range r.reports {
		segments := admission.Segments(r.verdict.Probe, reportOf, own.Rank)
		var answers []v1.ProbeAnswer
		for _, s := range segments {
			answers = append(answers, a.open(own.Rank, s))
			r.opened[own.Rank] += fmt.Sprint(s.Kind, s.Leader, " ")
		}
		if a.tamper != nil {
			answers = a.tamper(own.Rank, answers)
		}
		r.outcomes[own.Rank] = admission.Outcomes(segments, reportOf, answers)
	}
	r.admission = admission.Admit("engine-a", r.verdict, r.reports, r.outcomes)
	return r
}

// open is what a rank sees of a segment.
func (a *attempt) open(rank int64, s v1.OpenSegment) v1.ProbeAnswer {
	switch {
	case s.Name == "":
		return v1.ProbeAnswer{Kind: s.Kind, Outcome: v1.Unknown, Error: &v1.LocalFail{Errno: "no_segment"}}
	case a.mounts[rank] != a.mounts[s.Leader]:
		return v1.ProbeAnswer{Kind: s.Kind, Outcome: v1.NotShared, Error: &v1.LocalFail{
			Errno: "ENOENT", Detail: "/dev/shm/" + s.Name + " is not there",
		}}
	}
	return v1.ProbeAnswer{Kind: s.Kind, Outcome: v1.Shared, Nonce: hex.EncodeToString(nonceOf(s.Leader))}
}

// decided has a launch judged by the rules that ship.
func decided(t require.TestingT) func(*v1.Launch) *v1.Verdict {
	engine, err := judge()
	require.NoError(t, err)
	return func(launch *v1.Launch) *v1.Verdict {
		d, err := engine.DecideAt(context.Background(), topology.StageRegistration, launch)
		require.NoError(t, err)
		v := &v1.Verdict{}
		require.NoError(t, json.Unmarshal(d.JSON, v))
		return v
	}
}

// golden compares a text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", strings.ReplaceAll(name, " ", "_")+".golden")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}
