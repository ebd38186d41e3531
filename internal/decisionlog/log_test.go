package decisionlog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// collector is a sink that keeps what it is given. While held it takes nothing.
type collector struct {
	mu    sync.Mutex
	lines bytes.Buffer
	held  chan struct{}
}

func (c *collector) Write(ctx context.Context, lines []byte) error {
	if c.held != nil {
		select {
		case <-c.held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines.Write(lines)
	return nil
}

func (c *collector) Close() error { return nil }

func (c *collector) ids(t *testing.T) (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return idsOf(t, c.lines.Bytes())
}

func idsOf(t *testing.T, lines []byte) (ids []string) {
	t.Helper()
	for line := range bytes.Lines(lines) {
		var r Record
		require.NoError(t, json.Unmarshal(line, &r), "%s", line)
		ids = append(ids, r.DecisionID)
	}
	return ids
}

func record(i int) *Record {
	return &Record{
		DecisionID: fmt.Sprint(i), Kind: KindValidate, Timestamp: time.Unix(0, 0).UTC(), Result: []byte(`{"outcome":"allow"}`),
		Input: &v1.Launch{Engine: v1.Engine{Env: map[string]string{"HF_TOKEN": "hunter2"}}, Nodes: []v1.Node{{ID: "a", IP: "10.0.0.1"}, {ID: "b"}}},
	}
}

func numbers(from, to int) (ids []string) {
	for i := from; i < to; i++ {
		ids = append(ids, fmt.Sprint(i))
	}
	return ids
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func past() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestRecordsAreMaskedErasedAndFlushed(t *testing.T) {
	sink := &collector{}
	l, err := Open(Options{Sink: sink, Mask: func() []string { return []string{"/input/nodes/*/ip", "/result/nothing"} }})
	require.NoError(t, err)
	for i := range 100 {
		l.Record(record(i), 0)
	}
	require.NoError(t, l.Close(soon(t)))
	assert.Equal(t, numbers(0, 100), sink.ids(t))
	var r Record
	require.NoError(t, json.Unmarshal(bytes.SplitN(sink.lines.Bytes(), []byte{'\n'}, 2)[0], &r))
	assert.Equal(t, []string{"/input/engine/env/HF_TOKEN"}, r.Masked)
	assert.Equal(t, []string{"/input/nodes/0/ip"}, r.Erased)
	assert.NotContains(t, sink.lines.String(), "hunter2")
	assert.NotContains(t, sink.lines.String(), "10.0.0.1")
	assert.Equal(t, int64(100), l.Stats().Delivered)
	l.Record(record(1), 0)
	assert.Equal(t, int64(1), l.Stats().Dropped[DropShutdown])
}

// A sink that hangs costs records, never time: each of them comes back at once.
func TestASinkThatHangsDelaysNobody(t *testing.T) {
	sink := &collector{held: make(chan struct{})}
	l, err := Open(Options{Sink: sink, BufferBytes: 10 * leastBytes})
	require.NoError(t, err)
	for i := range 1000 {
		l.Record(record(i), 0)
	}
	assert.GreaterOrEqual(t, l.Stats().Dropped[DropBuffer], int64(800), "a batch and a buffer, each of some 60 records, are all that is kept")
	require.ErrorContains(t, l.Close(past()), "records were dropped")
	stats := l.Stats()
	assert.Equal(t, int64(1000), stats.Dropped[DropBuffer]+stats.Dropped[DropShutdown])
}

func TestTheSpoolOutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	held := &collector{held: make(chan struct{})}
	l, err := Open(Options{Sink: held, Spool: dir})
	require.NoError(t, err)
	for i := range 500 {
		l.Record(record(i), 0)
	}
	_, err = Open(Options{Sink: held, Spool: dir})
	require.ErrorContains(t, err, "in use by another process")
	for l.Stats().Spooled < 500 {
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, l.Close(past()), "what is spooled is not lost")

	// A crash in the middle of a line.
	last, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	require.NoError(t, err)
	file, err := os.OpenFile(last[len(last)-1], os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString("garbage\n" + `{"decision_id":"half`)
	require.NoError(t, errors.Join(err, file.Close()))

	sink := &collector{}
	l, err = Open(Options{Sink: sink, Spool: dir})
	require.NoError(t, err)
	l.Record(record(500), 0)
	require.NoError(t, l.Close(soon(t)))
	assert.Equal(t, numbers(0, 501), sink.ids(t))
	assert.Equal(t, int64(1), l.Stats().Dropped[DropCorrupt])

	again := &collector{}
	l, err = Open(Options{Sink: again, Spool: dir})
	require.NoError(t, err)
	require.NoError(t, l.Close(soon(t)))
	assert.Empty(t, again.ids(t), "delivered once")
}

func TestAFullSpoolDropsTheNewest(t *testing.T) {
	sink := &collector{held: make(chan struct{})}
	l, err := Open(Options{Sink: sink, Spool: t.TempDir(), SpoolBytes: 4 * maxBatch})
	require.NoError(t, err)
	big := record(0)
	big.Result = []byte(`"` + strings.Repeat("x", maxBatch) + `"`)
	for range 8 {
		l.Record(big, 0)
	}
	for stats := l.Stats(); stats.Spooled+stats.Dropped[DropSpool] < 8; stats = l.Stats() {
		time.Sleep(time.Millisecond)
	}
	assert.Equal(t, int64(3), l.Stats().Spooled)
	close(sink.held)
	for l.Stats().Delivered < 3 {
		time.Sleep(time.Millisecond)
	}
	l.Record(record(1), 0)
	require.NoError(t, l.Close(soon(t)))
	assert.Len(t, sink.ids(t), 4, "there is room again once the sink took some")
}

// A disk that is full loses what comes and nothing else. /dev/full stands for one.
func TestAFullDisk(t *testing.T) {
	dir := t.TempDir()
	sink := &collector{}
	l, err := Open(Options{Sink: sink, Spool: dir})
	require.NoError(t, err)
	require.NoError(t, os.Symlink("/dev/full", filepath.Join(dir, "0000000000000001.jsonl")))
	l.Record(record(0), 0)
	for l.Stats().Dropped[DropDisk] == 0 {
		time.Sleep(time.Millisecond)
	}
	l.Record(record(1), 0)
	require.NoError(t, l.Close(soon(t)))
	assert.Equal(t, []string{"1"}, sink.ids(t))
}

func TestFilesRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.log")
	f, err := OpenFile(path, 10, 2)
	require.NoError(t, err)
	for i := range 5 {
		require.NoError(t, f.Write(t.Context(), fmt.Appendf(nil, "line %d\n", i)))
	}
	require.NoError(t, f.Close())
	for name, want := range map[string]string{"": "line 4\n", ".1": "line 3\n", ".2": "line 2\n"} {
		text, err := os.ReadFile(path + name)
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
	}
	assert.NoFileExists(t, path+".3")
}

func TestHTTPIsOPAsFormatAndTriesAgain(t *testing.T) {
	var got []Record
	answers := []int{503, 200, 413, 200}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "gzip", r.Header.Get("Content-Encoding"))
		assert.Equal(t, "Bearer t0", r.Header.Get("Authorization"))
		reader, err := gzip.NewReader(r.Body)
		assert.NoError(t, err)
		text, err := io.ReadAll(reader)
		assert.NoError(t, err)
		var events []Record
		assert.NoError(t, json.Unmarshal(text, &events))
		if answers[0] == 200 {
			got = append(got, events...)
		}
		w.WriteHeader(answers[0])
		answers = answers[1:]
	}))
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("t0\n"), 0o600))
	l, err := Open(Options{Sink: NewHTTP(server.URL, token)})
	require.NoError(t, err)
	for i := range 3 {
		l.Record(record(i), 0)
		for stats := l.Stats(); stats.Delivered+stats.Dropped[DropRefused] <= int64(i); stats = l.Stats() {
			time.Sleep(time.Millisecond)
		}
	}
	require.NoError(t, l.Close(soon(t)))
	require.Len(t, got, 2)
	assert.Equal(t, []string{"0", "2"}, []string{got[0].DecisionID, got[1].DecisionID})
	assert.Equal(t, int64(1), l.Stats().Dropped[DropRefused])
}

const spoolVariable = "TIERGATE_TEST_SPOOL"

// TestKilledUnderLoad kills a process, as often as it takes to hit it at different moments, and looks for every record that it
// said was spooled.
func TestKilledUnderLoad(t *testing.T) {
	if dir := os.Getenv(spoolVariable); dir != "" {
		spoolUntilKilled(dir)
	}
	for round := range 4 {
		dir := t.TempDir()
		child := exec.Command(os.Args[0], "-test.run=^TestKilledUnderLoad$")
		child.Env = append(os.Environ(), spoolVariable+"="+dir)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		acknowledged := 0
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			_, err := fmt.Sscanf(lines.Text(), "spooled %d", &acknowledged)
			require.NoError(t, err, lines.Text())
			if acknowledged > 500*(round+1) {
				require.NoError(t, child.Process.Signal(syscall.SIGKILL)) // what it said until then is read on
				break
			}
		}
		for lines.Scan() {
			if n, _ := fmt.Sscanf(lines.Text(), "spooled %d", &acknowledged); n == 0 {
				break
			}
		}
		require.Error(t, child.Wait())

		sink := &collector{}
		l, err := Open(Options{Sink: sink, Spool: dir})
		require.NoError(t, err)
		require.NoError(t, l.Close(soon(t)))
		ids := sink.ids(t)
		require.GreaterOrEqual(t, len(ids), acknowledged)
		assert.Equal(t, numbers(0, len(ids)), ids)
	}
}

func spoolUntilKilled(dir string) {
	l, err := Open(Options{Sink: &collector{held: make(chan struct{})}, Spool: dir, BufferBytes: 1 << 30})
	if err != nil {
		panic(err)
	}
	go func() {
		for i := 0; ; i++ {
			l.Record(record(i), 0)
			if i%256 == 0 {
				time.Sleep(time.Millisecond) // so that the spool keeps up; a drop would be a gap
			}
		}
	}()
	for last := int64(0); ; time.Sleep(time.Millisecond / 4) {
		if n := l.Stats().Spooled; n > last {
			fmt.Printf("spooled %d\n", n)
			last = n
		}
	}
}
