package storm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// deadline is that of every worker.
const deadline = 2 * time.Minute

// progress is what a worker reads of an answer.
type progress struct {
	Attempt   int64            `json:"attempt"`
	AttemptID string           `json:"attempt_id"`
	Segments  []v1.OpenSegment `json:"segments"`
	Admission *v1.Admission    `json:"admission"`
}

// worker is one rank.
type worker struct {
	client *http.Client
	engine *engine
	rank   int64
	// reported is told when the report is about to be sent.
	reported func()
}

// register goes through the protocol and returns the admission.
func (w *worker) register(ctx context.Context) (*v1.Admission, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	incarnation := random(16)
	report, err := w.engine.report(w.rank, incarnation, deadline.Milliseconds())
	if err != nil {
		return nil, err
	}
	base := "http://tiergate/v1/engines/" + url.PathEscape(w.engine.id)
	w.reported()
	p, err := w.put(ctx, fmt.Sprintf("%s/ranks/%d?wait=30s", base, w.rank), report)
	if err != nil || p.Admission != nil {
		return p.admission(), err
	}
	answers, err := w.engine.probe(w.rank, incarnation, p)
	if err != nil {
		return nil, err
	}
	p, err = w.put(ctx, fmt.Sprintf("%s/attempts/%d/ranks/%d/probe?wait=30s", base, p.Attempt, w.rank), answers)
	return p.admission(), err
}

func (p *progress) admission() *v1.Admission {
	if p == nil {
		return nil
	}
	return p.Admission
}

// busyPause is what a busy service asks for.
const busyPause = time.Second

// put repeats a request until it is answered with more than "wait" or "come back later".
func (w *worker) put(ctx context.Context, target string, body []byte) (*progress, error) {
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, target, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := w.client.Do(request)
		if err != nil {
			return nil, err
		}
		answer, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		switch {
		case err != nil:
			return nil, err
		case response.StatusCode == http.StatusAccepted:
		case response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "":
			if !sleepUntil(ctx, time.Now().Add(busyPause)) {
				return nil, fmt.Errorf("%w: %s: %.300s", ctx.Err(), response.Status, answer)
			}
		case response.StatusCode != http.StatusOK:
			return nil, fmt.Errorf("%s %s: %s: %.300s", request.Method, target, response.Status, answer)
		default:
			p := new(progress)
			return p, json.Unmarshal(answer, p)
		}
	}
}
