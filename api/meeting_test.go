package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/config"
	"github.com/tiergate/tiergate/internal/rendezvous"
)

// meeting is a server on a unix socket with its workers.
type meeting struct {
	*running
	journal *memoryJournal
	client  *http.Client
}

func meet(t testing.TB, change func(*config.Serve)) *meeting {
	t.Helper()
	return meetWith(t, options(shipped(), change))
}

func meetWith(t testing.TB, opts Options) *meeting {
	t.Helper()
	dir, err := os.MkdirTemp("", "tg") // sockets have short paths
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	opts.Config.Addr = []string{"unix://" + filepath.Join(dir, "s")}
	m := &meeting{journal: opts.Journal.(*memoryJournal)}
	m.running = start(t, opts)
	m.client = &http.Client{Transport: &http.Transport{DialContext: m.dial}}
	t.Cleanup(m.client.CloseIdleConnections)
	return m
}

func (m *meeting) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(m.url, "unix://"))
}

// said is an answer.
type said struct {
	*http.Response
	text string
}

// contentType is the key of the content type of a request.
type contentType struct{}

// bearer is the key of the token that a request shows.
type bearer struct{}

// send asks with a document, or with text, or without a body.
func (m *meeting) send(ctx context.Context, method, path string, body any) (said, error) {
	var text []byte
	switch b := body.(type) {
	case nil:
	case string:
		text = []byte(b)
	default:
		text = encode(b)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://tiergate"+path, bytes.NewReader(text))
	if err != nil {
		return said{}, err
	}
	if mediaType, given := ctx.Value(contentType{}).(string); given {
		request.Header.Set("Content-Type", mediaType)
	}
	if token, given := ctx.Value(bearer{}).(string); given {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := m.client.Do(request)
	if err != nil {
		return said{}, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return said{response, string(answer)}, err
}

func (m *meeting) ask(t testing.TB, method, path string, body any) said {
	t.Helper()
	answer, err := m.send(t.Context(), method, path, body)
	require.NoError(t, err)
	return answer
}

// later asks in the background, and returns once so many workers are inside.
func (m *meeting) later(t testing.TB, inside int, path string, body any) <-chan said {
	t.Helper()
	answers := make(chan said, 1)
	go func() {
		defer close(answers)
		if answer, err := m.send(t.Context(), http.MethodPut, path, body); assert.NoError(t, err) {
			answers <- answer
		}
	}()
	await(t, func() bool {
		_, waiting := m.rendezvous.Load()
		return waiting >= inside
	})
	return answers
}

// problem reads the problem of an answer.
func (s said) problem(t testing.TB, status int, code string) *v1.Problem {
	t.Helper()
	require.Equal(t, status, s.StatusCode, s.text)
	p := new(v1.Problem)
	require.NoError(t, json.Unmarshal([]byte(s.text), p))
	require.Equal(t, code, p.Code, s.text)
	return p
}

// progress reads the progress of an answer.
func (s said) progress(t testing.TB, status int) *v1.Progress {
	t.Helper()
	require.Equal(t, status, s.StatusCode, s.text)
	p := new(v1.Progress)
	require.NoError(t, json.Unmarshal([]byte(s.text), p))
	return p
}

func pointerTo(n int64) *int64 { return &n }

// nonceOf is what a rank wrote into its segment.
func nonceOf(rank int64) []byte { return fmt.Appendf(nil, "nonce %026d", rank) }

func incarnation(rank int64) string { return fmt.Sprintf("%032x", rank+1) }

// worker is the report of a rank of a TP=2 engine with a filesystem tier, on a node.
func worker(rank int64, node string) *v1.Report {
	sum := sha256.Sum256(nonceOf(rank))
	r := &v1.Report{
		Protocol: v1.Protocol, Incarnation: incarnation(rank), WorldSize: 2, Groups: map[string][]int64{"tp": {0, 1}}, DeadlineMS: 60_000,
		Configuration: v1.Configuration{
			Parallel: &v1.Parallel{Tensor: pointerTo(2)}, Executor: "external_launcher", Version: "0.33.0",
			KVTransfer: json.RawMessage(`{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {` +
				`"spec_name": "TieringOffloadingSpec", "cpu_bytes_to_use": 4096, "secondary_tiers": [{"type": "fs", "root_dir": "/kv"}]}}`),
		},
		Facts: v1.NodeFacts{Node: node, BootID: "boot-" + node, Shm: &v1.ShmFacts{Device: "0:27", Filesystem: "tmpfs"}},
	}
	if rank == 0 {
		r.Segment = &v1.Segment{Name: "tiergate-probe-a", SHA256: hex.EncodeToString(sum[:])}
	}
	return r
}

// found is the probe of a rank that read the nonce of rank 0.
func found(rank int64, p *v1.Progress) *v1.Probe {
	probe := &v1.Probe{Protocol: v1.Protocol, AttemptID: p.AttemptID, Incarnation: incarnation(rank)}
	for _, s := range p.Segments {
		probe.Answers = append(probe.Answers, v1.ProbeAnswer{
			Kind: s.Kind, Outcome: v1.Shared, Nonce: hex.EncodeToString(nonceOf(s.Leader)),
		})
	}
	return probe
}

func escaped(name string) string { return url.PathEscape(name) }

func keyOf(name string) rendezvous.Key { return rendezvous.Key{Engine: name} }

const engineA = "/v1/engines/engine-a"

func probePath(attempt, rank int64) string {
	return fmt.Sprintf("%s/attempts/%d/ranks/%d/probe?wait=30s", engineA, attempt, rank)
}

// gathered has both ranks report and returns their verdicts.
func (m *meeting) gathered(t testing.TB) (first, second *v1.Progress) {
	t.Helper()
	early := m.later(t, 1, engineA+"/ranks/0?wait=30s", worker(0, "gpu-a"))
	second = m.ask(t, http.MethodPut, engineA+"/ranks/1?wait=30s", worker(1, "gpu-a")).progress(t, http.StatusOK)
	return (<-early).progress(t, http.StatusOK), second
}

// admitted has both ranks prove that they share memory.
func (m *meeting) admitted(t testing.TB) *v1.Progress {
	t.Helper()
	first, second := m.gathered(t)
	early := m.later(t, 1, probePath(1, 0), found(0, first))
	last := m.ask(t, http.MethodPut, probePath(1, 1), found(1, second)).progress(t, http.StatusOK)
	assert.Equal(t, v1.Allow, (<-early).progress(t, http.StatusOK).Admission.Outcome)
	return last
}
