package lookback_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/decisionlog"
	"github.com/tiergate/tiergate/internal/lookback"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
)

func engine(t testing.TB, data string) *policy.Engine {
	t.Helper()
	opts := policy.Options{Now: func() time.Time { return time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC) }}
	if data != "" {
		opts.Sources = []policy.Source{{Name: "site", FS: fstest.MapFS{"data.yaml": {Data: []byte(data)}}}}
	}
	e, err := policy.New(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Close(context.Background())) })
	return e
}

func replay(t testing.TB, e *policy.Engine, log io.Reader) (*lookback.Summary, error) {
	t.Helper()
	info, err := e.Info()
	require.NoError(t, err)
	return lookback.Replay(t.Context(), info.Revision, e, log)
}

// launch is an engine of eight workers with a tier. Its groups span two nodes if it is told so.
func launch(id string, spanning bool) *v1.Launch {
	size := int64(8)
	l := &v1.Launch{
		Engine: v1.Engine{
			ID: id, Version: "0.33.0", Parallel: &v1.Parallel{Tensor: &size}, Executor: "external_launcher",
			KVTransfer: []byte(`{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":{"spec_name":` +
				`"TieringOffloadingSpec","cpu_bytes_to_use":68719476736,"secondary_tiers":[{"type":"fs","root_dir":"/kv"}]}}`),
		},
		Nodes: []v1.Node{
			{ID: "gpu-a", BootID: "a", Shm: &v1.Shm{Device: "0:27"}}, {ID: "gpu-b", BootID: "b", Shm: &v1.Shm{Device: "0:27"}},
		},
		Core: &v1.Core{Node: "gpu-a"},
	}
	for rank := range size {
		node := "gpu-a"
		if spanning && rank >= size/2 {
			node = "gpu-b"
		}
		l.Workers = append(l.Workers, v1.Worker{Rank: rank, Node: node, Version: "0.33.0"})
	}
	return l
}

// record decides a launch and gives the line that a decision log would have.
func record(t testing.TB, e *policy.Engine, id string, l *v1.Launch) []byte {
	t.Helper()
	d, err := e.Decide(t.Context(), l)
	require.NoError(t, err)
	line, err := json.Marshal(&decisionlog.Record{
		DecisionID: id, Kind: decisionlog.KindValidate, Path: policy.Verdict, Stage: topology.StageLaunch, Now: d.Now,
		Revision: d.Revision, Digest: d.Digest, Input: l, Result: d.JSON,
	})
	require.NoError(t, err)
	return append(line, '\n')
}

const onlyWarn = `settings: {enforcement: {tiering.node_local: warn}}`

func TestReplayVerifiesARevisionAndGroupsTheFlipsOfAnother(t *testing.T) {
	active := engine(t, "")
	var log bytes.Buffer
	for i := range 200 { // several chunks
		log.Write(record(t, active, fmt.Sprint("d", i), launch(fmt.Sprint("engine-", i), i%4 == 0)))
	}
	log.WriteString(`{"decision_id":"a","kind":"admission","result":{"outcome":"allow"},"timestamp":"2026-12-01T03:00:00Z"}` + "\n\n")
	text := log.String()
	got, err := replay(t, active, strings.NewReader(text))
	require.NoError(t, err)
	assert.Equal(t, &lookback.Summary{
		Revision: got.Revision, Replayed: 200, Verified: 200, Skipped: 1, Flips: []lookback.Group{},
	}, got, "the same revision gives the same digests")

	got, err = replay(t, engine(t, onlyWarn), strings.NewReader(text))
	require.NoError(t, err)
	assert.Equal(t, 50, got.Flipped)
	assert.Empty(t, got.Mismatches)
	require.Len(t, got.Flips, 2)
	for i, want := range []lookback.Flip{
		{Check: "tiering.node_local", From: "fail", To: "fail (warn)"}, {Check: lookback.VerdictFlip, From: "deny", To: "allow"},
	} {
		assert.Equal(t, want, got.Flips[i].Flip)
		assert.Equal(t, 50, got.Flips[i].Count)
		assert.Len(t, got.Flips[i].Examples, 3)
	}
}

// A log that was changed, or a service that did not decide by what it said, must not pass.
func TestReplayFindsWhatCannotBe(t *testing.T) {
	active := engine(t, "")
	line := string(record(t, active, "forged", launch("engine-a", true)))
	for name, change := range map[string][2]string{
		"verdict": {`"outcome":"deny"`, `"outcome":"allow"`},
		"launch":  {`"rank":7,"node":"gpu-b"`, `"rank":7,"node":"gpu-a"`},
	} {
		forged := strings.Replace(line, change[0], change[1], 1)
		require.NotEqual(t, line, forged, name)
		got, err := replay(t, active, strings.NewReader(forged))
		require.NoError(t, err)
		assert.Len(t, got.Mismatches, 1, name)
		assert.Zero(t, got.Verified, name)
	}
	got, err := replay(t, active, strings.NewReader(strings.Replace(line, `"executor":"external_launcher"`, `"executor":"slurm"`, 1)))
	require.NoError(t, err)
	assert.Equal(t, 1, len(got.Failed)+len(got.Mismatches))
}

func TestReplayNamesTheLineThatIsNoRecord(t *testing.T) {
	active := engine(t, "")
	good := string(record(t, active, "d", launch("engine-a", true)))
	for text, want := range map[string]string{
		good + "{\n": "line 2 is no record of a decision log, one JSON object to a line: ",
		"{}\n":       "line 1 is no record of a decision log, one JSON object to a line: it has no kind",
		strings.Replace(good, `"now":"2026-12-01T03:00:00Z"`, `"now":"yesterday"`, 1): "line 1 is no record",
	} {
		_, err := replay(t, active, strings.NewReader(text))
		var unreadable *lookback.UnreadableError
		require.ErrorAs(t, err, &unreadable, "%s", text)
		assert.ErrorContains(t, err, want)
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	_, err := lookback.Replay(ctx, "r", active, strings.NewReader(good))
	assert.ErrorIs(t, err, stopped)
}

// BenchmarkReplay is for launches of eight workers, with another revision, on all processors.
func BenchmarkReplay(b *testing.B) {
	var log bytes.Buffer
	active := engine(b, "")
	for i := range 1000 {
		log.Write(record(b, active, fmt.Sprint("d", i), launch(fmt.Sprint("engine-", i), i%4 == 0)))
	}
	candidate := engine(b, onlyWarn)
	n := 0
	for b.Loop() {
		got, err := replay(b, candidate, bytes.NewReader(log.Bytes()))
		require.NoError(b, err)
		n += got.Replayed
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "launches/s")
}
