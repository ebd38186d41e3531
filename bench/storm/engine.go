package storm

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Shape is the grid of every engine of a storm.
type Shape struct{ Tensor, Pipeline int64 }

// World is the number of ranks of one engine.
func (s Shape) World() int64 { return s.Tensor * s.Pipeline }

const transfer = `{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":` +
	`{"spec_name":"TieringOffloadingSpec","cpu_bytes_to_use":1073741824,"secondary_tiers":[{"type":"fs","root_dir":"/mnt/kv"}]}}`

// engine is one replica that comes up. Its last rank is elsewhere if it is spanning, and must then be rejected.
type engine struct {
	id       string
	shape    Shape
	spanning bool
	nonces   []string // by rank; empty for a rank that leads no group
}

func newEngine(id string, shape Shape, spanning bool) *engine {
	e := &engine{id: id, shape: shape, spanning: spanning, nonces: make([]string, shape.World())}
	for rank := range e.nonces {
		if t, p := int64(rank)%shape.Tensor, int64(rank)/shape.Tensor; t == 0 && shape.Tensor > 1 || p == 0 && shape.Pipeline > 1 {
			e.nonces[rank] = random(32)
		}
	}
	return e
}

// want is the outcome that every rank must get.
func (e *engine) want() string {
	if e.spanning {
		return v1.Reject
	}
	return v1.Allow
}

// host is where a rank is.
func (e *engine) host(rank int64) int {
	if e.spanning && rank == e.shape.World()-1 {
		return 1
	}
	return 0
}

func (e *engine) report(rank int64, incarnation string, deadlineMS int64) ([]byte, error) {
	total, free := int64(64<<30), int64(60<<30)
	tensor, pipeline := e.shape.Tensor, e.shape.Pipeline
	host := e.host(rank)
	r := v1.Report{
		Protocol: v1.Protocol, Incarnation: incarnation, WorldSize: e.shape.World(), DeadlineMS: deadlineMS,
		Groups: map[string][]int64{"tp": e.line(rank, "tp"), "pp": e.line(rank, "pp")},
		Configuration: v1.Configuration{
			Parallel: &v1.Parallel{Tensor: &tensor, Pipeline: &pipeline}, Executor: "ray", Version: "0.33.0",
			KVTransfer: json.RawMessage(transfer),
		},
		Facts: v1.NodeFacts{
			Node: fmt.Sprintf("%s-node-%d", e.id, host), Hostname: fmt.Sprintf("%s-node-%d", e.id, host),
			BootID: fmt.Sprintf("%s-boot-%d", e.id, host), PID: 100 + rank,
			Shm: &v1.ShmFacts{
				Device: "0:27", Inode: 1, Filesystem: "tmpfs", Source: "shm", TotalBytes: &total, FreeBytes: &free,
				StaleRegions: []v1.StaleRegion{},
			},
		},
	}
	if nonce := e.nonces[rank]; nonce != "" {
		raw, err := hex.DecodeString(nonce)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(raw)
		r.Segment = &v1.Segment{Name: e.segment(rank), SHA256: hex.EncodeToString(sum[:])}
	}
	return json.Marshal(r)
}

// segment is the name of a rank's segment; it ends in the rank.
func (e *engine) segment(rank int64) string { return fmt.Sprintf("tiergate-probe-%s-%d", e.id, rank) }

// line is the group of a rank.
func (e *engine) line(rank int64, kind string) []int64 {
	first, step, size := rank-rank%e.shape.Tensor, int64(1), e.shape.Tensor
	if kind == "pp" {
		first, step, size = rank%e.shape.Tensor, e.shape.Tensor, e.shape.Pipeline
	}
	ranks := make([]int64, size)
	for i := range ranks {
		ranks[i] = first + int64(i)*step
	}
	return ranks
}

// probe answers what a rank on its host can read.
func (e *engine) probe(rank int64, incarnation string, p *progress) ([]byte, error) {
	out := v1.Probe{Protocol: v1.Protocol, AttemptID: p.AttemptID, Incarnation: incarnation}
	for _, s := range p.Segments {
		a := v1.ProbeAnswer{Kind: s.Kind, Outcome: v1.Shared, Nonce: e.nonces[s.Leader]}
		if s.Name != e.segment(s.Leader) {
			return nil, fmt.Errorf("told to open %q, which is not the segment of rank %d of engine %s", s.Name, s.Leader, e.id)
		}
		if e.host(rank) != e.host(s.Leader) {
			a = v1.ProbeAnswer{Kind: s.Kind, Outcome: v1.NotShared, Error: &v1.LocalFail{Errno: "ENOENT", Detail: "open: no such file"}}
		}
		out.Answers = append(out.Answers, a)
	}
	return json.Marshal(out)
}

func random(bytes int) string {
	id := make([]byte, bytes)
	_, _ = rand.Read(id) // it never fails, by its documentation
	return hex.EncodeToString(id)
}
