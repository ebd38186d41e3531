package hosttest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Wiretap stands between the workers of engines and their service. It keeps what passes, and can change reports on their
// way, as if the workers' hosts had told them something else. Its methods are safe for concurrent use.
type Wiretap struct {
	// URL is what workers take for the service's address.
	URL string

	target string
	client *http.Client

	mu        sync.Mutex
	forgers   map[string]func(rank int64, r *v1.Report)
	delays    map[string]func(rank int64) time.Duration
	exchanges map[string][]Exchange
}

// Exchange is a request about an engine and its answer, in the order of the answers.
type Exchange struct {
	Method string
	// Rank is -1 for what is not about one.
	Rank int64
	// Report or Probe is what the rank sent, Report as the service saw it.
	Report *v1.Report
	Probe  *v1.Probe
	// Status is 0 if there was no answer, for want of either side.
	Status   int
	Progress *v1.Progress
	Problem  *v1.Problem
	// Asked is when the request was there, Answered when its answer was.
	Asked, Answered time.Time
}

// Wiretap listens on the switch and passes requests on to the service at target, http:// and the address of a host.
func (l *Lab) Wiretap(tb testing.TB, target string) *Wiretap {
	tb.Helper()
	w := &Wiretap{
		target: target, client: &http.Client{Transport: &http.Transport{
			DialContext: l.Dial, MaxIdleConnsPerHost: 64, DisableCompression: true,
		}},
		forgers: map[string]func(int64, *v1.Report){}, delays: map[string]func(int64) time.Duration{},
		exchanges: map[string][]Exchange{},
	}
	listener := l.Listen(tb, 0)
	w.URL = "http://" + listener.Addr().String()
	server := &http.Server{Handler: http.HandlerFunc(w.pass)}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = server.Serve(listener) // it ends by Close
	}()
	tb.Cleanup(func() {
		_ = server.Close()
		<-stopped
		w.client.CloseIdleConnections()
	})
	return w
}

// Forge has every report of an engine changed before the service sees it.
func (w *Wiretap) Forge(engine string, forge func(rank int64, r *v1.Report)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgers[engine] = forge
}

// Delay has answers about an engine come later, those too that are under way.
func (w *Wiretap) Delay(engine string, by func(rank int64) time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delays[engine] = by
}

// delay is before an answer is passed on.
func (w *Wiretap) delay(ctx context.Context, engine string, rank int64) {
	w.mu.Lock()
	by := w.delays[engine]
	w.mu.Unlock()
	if by == nil {
		return
	}
	timer := time.NewTimer(by(rank))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done(): // nobody waits for it any more
	}
}

// Exchanges are those of an engine that were answered so far.
func (w *Wiretap) Exchanges(engine string) []Exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.exchanges[engine])
}

func (w *Wiretap) pass(rw http.ResponseWriter, r *http.Request) {
	engine, rank := subject(r.URL.Path)
	e := Exchange{Method: r.Method, Rank: rank, Asked: time.Now()}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	body = w.overhear(&e, engine, r.URL.Path, body)
	request, err := http.NewRequestWithContext(r.Context(), r.Method, w.target+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		panic(err) // it was parsed from a request
	}
	request.Header = r.Header.Clone()
	response, err := w.client.Do(request)
	if err != nil {
		w.keep(engine, e)
		panic(http.ErrAbortHandler) // the worker sees a broken connection, as the wiretap does
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	e.Answered = time.Now()
	if err != nil {
		w.keep(engine, e)
		panic(http.ErrAbortHandler)
	}
	e.hear(response.StatusCode, answer)
	w.keep(engine, e)
	w.delay(r.Context(), engine, rank)
	for name, values := range response.Header {
		rw.Header()[name] = values
	}
	rw.WriteHeader(response.StatusCode)
	_, _ = rw.Write(answer) // a worker that is gone does not read it
}

// overhear keeps what a rank sends and returns what the service is to see of it. What is not understood passes as it is:
// the service will say so.
func (w *Wiretap) overhear(e *Exchange, engine, where string, body []byte) []byte {
	switch {
	case e.Method != http.MethodPut || e.Rank < 0:
		return body
	case path.Base(where) == "probe":
		probe := new(v1.Probe)
		if json.Unmarshal(body, probe) == nil {
			e.Probe = probe
		}
		return body
	}
	report := new(v1.Report)
	if json.Unmarshal(body, report) != nil {
		return body
	}
	e.Report = report
	w.mu.Lock()
	forge := w.forgers[engine]
	w.mu.Unlock()
	if forge == nil {
		return body
	}
	forge(e.Rank, report)
	forged, err := json.Marshal(report)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return forged
}

func (e *Exchange) hear(status int, answer []byte) {
	e.Status = status
	progress, problem := new(v1.Progress), new(v1.Problem)
	switch {
	case status >= http.StatusBadRequest && json.Unmarshal(answer, problem) == nil:
		e.Problem = problem
	case status < http.StatusBadRequest && e.Rank >= 0 && json.Unmarshal(answer, progress) == nil:
		e.Progress = progress
	}
}

func (w *Wiretap) keep(engine string, e Exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.exchanges[engine] = append(w.exchanges[engine], e)
}

// subject takes the engine and the rank, or -1, from a path such as /v1/engines/a/ranks/0.
func subject(urlPath string) (engine string, rank int64) {
	parts := strings.Split(strings.Trim(urlPath, "/"), "/")
	rank = -1
	if len(parts) > 2 && parts[1] == "engines" {
		engine = parts[2]
	}
	if i := slices.Index(parts, "ranks"); i > 2 && i+1 < len(parts) {
		if n, err := strconv.ParseInt(parts[i+1], 10, 64); err == nil {
			rank = n
		}
	}
	return engine, rank
}

// Withhold takes out of a report what tells memory domains, so that only the probe can.
func Withhold(_ int64, r *v1.Report) {
	r.Facts.BootID = ""
	if r.Facts.Shm != nil {
		r.Facts.Shm.Device = ""
	}
	for _, fact := range []string{"boot_id", "shm.device"} {
		r.Facts.Absent = append(r.Facts.Absent, v1.AbsentFact{Fact: fact, Reason: "withheld by the test"})
	}
}

// SameDomain makes every rank claim one memory domain, whatever it shares.
func SameDomain(_ int64, r *v1.Report) {
	r.Facts.BootID = "00000000-0000-4000-8000-000000000000"
	r.Facts.Shm = claimed(r.Facts.Shm, "0:27")
}

// DomainPerRank makes every rank claim a memory domain of its own.
func DomainPerRank(rank int64, r *v1.Report) {
	r.Facts.BootID = "00000000-0000-4000-8000-" + strings.Repeat("0", 8) + strconv.FormatInt(1000+rank, 10)
}

func claimed(shm *v1.ShmFacts, device string) *v1.ShmFacts {
	claim := v1.ShmFacts{}
	if shm != nil {
		claim = *shm
	}
	claim.Device = device
	return &claim
}
