package runtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// probedKinds are the kinds of groups whose members must share memory, in the order in which they are probed.
var probedKinds = [...]string{"tp", "pp", "pcp"}

// Membership is what a worker knows of its place. Ranks are those within the replica, 0 to WorldSize-1.
type Membership struct {
	Rank int64
	// WorldSize is PP*PCP*TP, the ranks of the replica.
	WorldSize        int64
	DataParallelRank int64
	// Groups are the groups of this rank by kind (tp, pp, pcp and others), each with its ranks in group order. A group
	// of one rank may be left out.
	Groups map[string][]int64
	// Engine is the engine's configuration as this worker runs it, in fields: a command is not read here.
	Engine v1.Engine
}

// validate refuses what is a mistake of the caller. What contradicts other ranks is for the verdict.
func (m *Membership) validate() error {
	switch {
	case m.WorldSize < 1:
		return fmt.Errorf("world size is %d, allowed is 1 or more", m.WorldSize)
	case m.Rank < 0 || m.Rank >= m.WorldSize:
		return fmt.Errorf("rank %d is not in a world of %d: ranks are those within the replica, 0 to world size - 1",
			m.Rank, m.WorldSize)
	case m.DataParallelRank < 0:
		return fmt.Errorf("data parallel rank is %d, allowed is 0 or more", m.DataParallelRank)
	}
	for kind, ranks := range m.Groups {
		if !slices.Contains(probedKinds[:], kind) {
			continue // dp and ep span replicas, with ranks of their own
		}
		if !slices.Contains(ranks, m.Rank) {
			return fmt.Errorf("group %s %v does not contain rank %d", kind, ranks, m.Rank)
		}
		if slices.Min(ranks) < 0 || slices.Max(ranks) >= m.WorldSize {
			return fmt.Errorf("group %s %v is not in a world of %d", kind, ranks, m.WorldSize)
		}
	}
	return nil
}

// validateGated refuses what would make the service judge another engine than the one that runs.
func (m *Membership) validateGated() error {
	p := m.Engine.Parallel
	switch {
	case len(m.Engine.Command) > 0:
		return errors.New("the engine is given as a command, which is not read here: give its settings as fields " +
			"(parallel, executor, nnodes, version, kv_transfer)")
	case p == nil:
		return errors.New("engine.parallel is missing: give the sizes of the grid")
	}
	for i, size := range [len(probedKinds)]*int64{p.Tensor, p.Pipeline, p.PrefillContext} {
		if kind := probedKinds[i]; size != nil && *size > 1 && len(m.Groups[kind]) == 0 {
			return fmt.Errorf("there is no %s group, but engine.parallel has %d ranks in one: give the ranks of the group",
				kind, *size)
		}
	}
	return nil
}

// leads tells whether others will open a segment of this rank.
func (m *Membership) leads() bool {
	for _, kind := range probedKinds {
		if ranks := m.Groups[kind]; len(ranks) > 1 && ranks[0] == m.Rank {
			return true
		}
	}
	return false
}

// engineKey names a replica: data-parallel replicas are engines of their own.
func engineKey(engine string, e *v1.Engine, dataParallelRank int64) (string, error) {
	if engine == "" {
		return "", ErrNoEngineKey
	}
	if e.Parallel != nil && e.Parallel.Data != nil && *e.Parallel.Data > 1 {
		engine += ".dp" + strconv.FormatInt(dataParallelRank, 10)
	}
	return engine, nil
}

// configuration is what all ranks must agree on, in the one form that encoders on the way do not change: the digest of
// what arrives must be that of what was sent.
func configuration(e *v1.Engine) v1.Configuration {
	return v1.Configuration{
		Parallel: e.Parallel, Executor: valid(e.Executor), Nnodes: e.Nnodes, Version: valid(e.Version),
		KVTransfer: transfer(e.KVTransfer),
	}
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// transfer is the verbatim configuration without its spaces. A text that is not JSON goes as a string: the service says
// what is wrong with it, to all ranks at once.
func transfer(raw json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if !json.Valid(raw) || decoder.Decode(&tree) != nil {
		tree = valid(string(raw))
	}
	text, err := json.Marshal(tree)
	if err != nil {
		panic("encode kv_transfer: " + err.Error()) // it was decoded from JSON
	}
	return text
}
