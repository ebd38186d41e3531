package hosttest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/hosttest"
)

// TestWiretap has a host report to a service that answers with what it was told.
func TestWiretap(t *testing.T) {
	t.Parallel()
	lab := hosttest.New(t)
	listener := lab.Listen(t, 0)
	seen := make(chan v1.Report, 10)
	service := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/probe") {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w, `{"code": "revoked"}`)
			return
		}
		var report v1.Report
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&report))
		seen <- report
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprintf(w, `{"attempt": 3, "phase": "%s"}`, r.URL.RawQuery)
	})}
	go func() { _ = service.Serve(listener) }()
	defer service.Close()
	tap := lab.Wiretap(t, "http://"+listener.Addr().String())

	client := &http.Client{Transport: &http.Transport{DialContext: lab.Dial}}
	defer client.CloseIdleConnections()
	put := func(path, body string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, tap.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		response, err := client.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	report := `{"world_size": 2, "facts": {"boot_id": "b", "shm": {"device": "0:9", "filesystem": "tmpfs"}}}`
	forges := map[string]func(int64, *v1.Report){
		"plain": nil, "withheld": hosttest.Withhold, "equal": hosttest.SameDomain, "different": hosttest.DomainPerRank,
	}
	got := map[string]v1.NodeFacts{}
	for name, forge := range forges {
		if forge != nil {
			tap.Forge(name, forge)
		}
		assert.Equal(t, http.StatusAccepted, put("/v1/engines/"+name+"/ranks/1?wait=1s", report))
		got[name] = (<-seen).Facts
	}
	assert.Equal(t, "b", got["plain"].BootID)
	assert.Equal(t, "0:9", got["plain"].Shm.Device)
	assert.Empty(t, got["withheld"].BootID)
	assert.Empty(t, got["withheld"].Shm.Device)
	assert.Equal(t, "tmpfs", got["withheld"].Shm.Filesystem)
	assert.Equal(t, "0:27", got["equal"].Shm.Device)
	assert.Contains(t, got["different"].BootID, "1001")

	assert.Equal(t, http.StatusConflict, put("/v1/engines/plain/attempts/3/ranks/1/probe", `{"answers": [{"kind": "tp"}]}`))
	exchanges := tap.Exchanges("plain")
	require.Len(t, exchanges, 2)
	first, second := exchanges[0], exchanges[1]
	assert.Equal(t, int64(1), first.Rank)
	assert.Equal(t, int64(2), first.Report.WorldSize)
	assert.Equal(t, "wait=1s", first.Progress.Phase, "the query passes")
	assert.Equal(t, "tp", second.Probe.Answers[0].Kind)
	assert.Equal(t, "revoked", second.Problem.Code)
	assert.WithinRange(t, second.Answered, second.Asked, time.Now())
}

func TestWiretapDelay(t *testing.T) {
	t.Parallel()
	lab := hosttest.New(t)
	listener := lab.Listen(t, 0)
	service := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	go func() { _ = service.Serve(listener) }()
	defer service.Close()
	tap := lab.Wiretap(t, "http://"+listener.Addr().String())
	tap.Delay("engine", func(rank int64) time.Duration { return time.Duration(rank) * 100 * time.Millisecond })
	client := &http.Client{Transport: &http.Transport{DialContext: lab.Dial}}
	defer client.CloseIdleConnections()
	for rank, least := range []time.Duration{0, 100 * time.Millisecond} {
		began := time.Now()
		response, err := client.Get(fmt.Sprintf("%s/v1/engines/engine/ranks/%d", tap.URL, rank))
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.GreaterOrEqual(t, time.Since(began), least)
	}
}
