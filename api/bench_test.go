package api

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/tiergate/tiergate/topology/document"
)

// launchOf is a launch of TP=8 engines with a filesystem tier, eight workers to a node, each replica on one host.
func launchOf(workers int) []byte {
	var b bytes.Buffer
	replicas := workers / 8
	fmt.Fprintf(&b, `{"engine":{"id":"engine-a","version":"0.33.0","parallel":{"tensor":8,"data":%d,"data_local":1},`+
		`"executor":"mp","kv_transfer":{"kv_connector":"OffloadingConnector","kv_role":"kv_both",`+
		`"kv_connector_extra_config":{"spec_name":"TieringOffloadingSpec","cpu_bytes_to_use":68719476736,`+
		`"blocks_per_chunk":4,"secondary_tiers":[{"type":"fs","root_dir":"/mnt/kv-cache"}]}}},"nodes":[`, replicas)
	for i := range replicas {
		fmt.Fprintf(&b, `{"id":"gpu-%d","boot_id":"3f6c1d0e-9a52-4c7b-8e11-%d","shm":{"device":"0:27",`+
			`"total_bytes":549755813888,"free_bytes":536870912000,"stale_regions":[]},`+
			`"memory":{"limit_bytes":1099511627776}},`, i, i)
	}
	b.Truncate(b.Len() - 1)
	b.WriteString(`],"workers":[`)
	for i := range workers {
		fmt.Fprintf(&b, `{"rank":%d,"node":"gpu-%d","version":"0.33.0"},`, i, i/8)
	}
	b.Truncate(b.Len() - 1)
	b.WriteString("]}")
	return b.Bytes()
}

// discard is the least that a handler can write to.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }

// benchmarkHandler calls a handler with the launch of so many workers, without a network.
func benchmarkHandler(b *testing.B, h http.Handler, workers int) {
	launch := launchOf(workers)
	reader := bytes.NewReader(nil)
	request := &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: "/v1/validate"}, ContentLength: int64(len(launch)),
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(reader),
	}
	w := &discard{header: http.Header{}}
	b.SetBytes(int64(len(launch)))
	b.ReportAllocs()
	for b.Loop() {
		reader.Reset(launch)
		clear(w.header)
		h.ServeHTTP(w, request)
		if w.status != http.StatusOK {
			b.Fatal(w.status)
		}
	}
}

// BenchmarkValidate beside an echo handler that only decodes into the same types is what the service adds to decoding.
func BenchmarkValidate(b *testing.B) {
	s, err := New(options(shipped(), nil))
	if err != nil {
		b.Fatal(err)
	}
	e := echo.New()
	e.POST("/v1/validate", func(c echo.Context) error {
		text, err := io.ReadAll(c.Request().Body)
		if err != nil {
			return err
		}
		if _, err := document.Launch(text, "application/json"); err != nil {
			return err
		}
		return c.NoContent(http.StatusOK)
	})
	for _, workers := range []int{8, 64, 512} {
		b.Run("service/"+strconv.Itoa(workers), func(b *testing.B) { benchmarkHandler(b, s.Handler(), workers) })
		b.Run("decode/"+strconv.Itoa(workers), func(b *testing.B) { benchmarkHandler(b, e, workers) })
	}
}

// BenchmarkRefuse is the cost of a request that is not judged: what remains when the service is overloaded.
func BenchmarkRefuse(b *testing.B) {
	s, err := New(options(shipped(), nil))
	if err != nil {
		b.Fatal(err)
	}
	request := &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: "/v1/validate"}, Header: http.Header{}, Body: http.NoBody,
	}
	s.queue.close()
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		s.Handler().ServeHTTP(w, request)
	}
}
