package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/decisionlog"
	"github.com/tiergate/tiergate/internal/webhook"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/document"
	"github.com/tiergate/tiergate/topology/kube"
)

// review answers POST /v1/admission: an AdmissionReview in, an AdmissionReview out. API servers that come to the webhook's
// address are nobody in particular.
func (x *exchange) review() error {
	if x.identity == nil {
		x.identity = anonymous
	}
	deadline, err := x.reviewDeadline()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(x.r.Context(), deadline)
	defer cancel()
	v := &reviewing{exchange: x}
	answer, err := v.answer(ctx)
	x.server.metrics.reviewed(v.question, answer, err, problemStatus(x.r.Context(), err))
	if err != nil {
		return err
	}
	x.admitted = answer.Outcome
	v.record(answer)
	x.send(http.StatusOK, typeJSON, answer.JSON())
	return nil
}

// reviewMargin is how long before the API server gives up its answer is given at the latest; a tenth of a short time.
const reviewMargin = 500 * time.Millisecond

// reviewDeadline ends before the API server stops to wait, of which the query tells: an answer that says why is worth more
// than a timeout.
func (x *exchange) reviewDeadline() (time.Time, error) {
	limit := x.server.config.DecisionTimeout
	if text := x.r.URL.Query().Get("timeout"); text != "" {
		given, err := time.ParseDuration(text)
		if err != nil || given <= 0 {
			return time.Time{}, &refusal{v1.CodeInvalidParameter, fmt.Sprintf("timeout is %.64q; allowed is a time such as 10s", text)}
		}
		limit = min(limit, given-min(given/10, reviewMargin))
	}
	return x.start.Add(limit), nil
}

// maxReviewObjects is how many objects a review may have at all depths: several times what is in the largest that API servers
// keep, old and new together.
const maxReviewObjects = 1 << 16

// reviewing is one review with what was decided for it.
type reviewing struct {
	*exchange
	question  *webhook.Review
	received  int64
	decisions []reviewed
}

type reviewed struct {
	launch   *v1.Launch
	decision policy.Decision
	elapsed  time.Duration
}

// answer reads the review and has it judged, with a place and a turn as a launch has them.
func (v *reviewing) answer(ctx context.Context) (*webhook.Answer, error) {
	var err error
	if v.place, err = v.server.queue.enter(); err != nil {
		return nil, err
	}
	b, err := readBody(v.r, &v.place, v.bodyLimit())
	if err != nil {
		return nil, err
	}
	defer b.free()
	if b.yaml {
		return nil, &document.Error{Code: document.CodeMediaType, Detail: "API servers send reviews as application/json"}
	}
	v.received = int64(len(b.data))
	// A container of two bytes becomes a thousand, so that reviews weigh what YAML does.
	if err := v.place.wait(ctx, v.received, true); err != nil {
		return nil, err
	}
	defer v.place.done()
	if n := bytes.Count(b.data, []byte{'{'}); n > maxReviewObjects {
		return nil, &document.Error{
			Code: document.CodeTooLarge, Detail: fmt.Sprintf("the review has %d objects, at most %d are read", n, maxReviewObjects),
		}
	}
	if v.question, err = webhook.Read(b.data); err != nil {
		return nil, err
	}
	v.engine = shorten(v.question.Namespace + "/" + v.question.Name)
	return v.question.Judge(ctx, v.id, v.decide)
}

// decide judges one engine. Only what is asked now counts as a decision, not what an object was before, nor a dry run.
func (v *reviewing) decide(ctx context.Context, engine *kube.Engine, before bool) (*v1.Verdict, error) {
	start := time.Now()
	d, err := v.server.engine.Decide(ctx, engine.Launch)
	elapsed := time.Since(start)
	counts := !before && !v.question.DryRun
	if counts {
		v.server.metrics.decided(d, err, elapsed)
	}
	if err != nil {
		return nil, v.unjudged(engine, err)
	}
	if counts {
		v.server.shadow.Try(topology.StageLaunch, engine.Launch, d)
	}
	if !before {
		v.decisions = append(v.decisions, reviewed{engine.Launch, d, elapsed})
	}
	verdict := new(v1.Verdict)
	if err := json.Unmarshal(d.JSON, verdict); err != nil {
		return nil, fmt.Errorf("read verdict: %w", err)
	}
	return verdict, nil
}

// unjudged names the engine in a problem of its launch, which is in no place of the review.
func (v *reviewing) unjudged(engine *kube.Engine, err error) error {
	p := problemOf(v.r.Context(), err)
	if p.Status != unjudgeable {
		return err
	}
	return &webhook.Error{Code: p.Code, Pointer: "/request/object", Detail: engine.Source + ": " + p.Detail}
}

// record puts the verdict of each engine into the decision log.
func (v *reviewing) record(answer *webhook.Answer) {
	if v.server.decisions == nil {
		return
	}
	q := v.question
	for i := range v.decisions {
		one := &v.decisions[i]
		r := recordOf(decisionlog.KindReview, topology.StageLaunch, one.launch, &one.decision, one.elapsed)
		r.DecisionID = v.id
		r.Review = &decisionlog.Review{
			UID: q.UID, Operation: q.Operation, Kind: q.Kind, Namespace: q.Namespace, Name: q.Name, User: q.User, DryRun: q.DryRun,
			Outcome: answer.Outcome,
		}
		v.sign(r)
		r.Metrics[decisionlog.TimerHandler] = time.Since(v.start).Nanoseconds()
		v.server.decisions.Record(r, v.received*launchWeight+int64(len(one.decision.JSON)))
	}
}

// problemStatus is the status that an error is answered with, 0 without one.
func problemStatus(ctx context.Context, err error) int {
	if err == nil {
		return 0
	}
	return problemOf(ctx, err).Status
}

// reviewed counts a review. One that could not be read has no operation.
func (m *metrics) reviewed(q *webhook.Review, answer *webhook.Answer, err error, status int) {
	operation, outcome := "none", outcomeError
	if q != nil {
		operation = q.Operation
	}
	switch {
	case err == nil:
		outcome = answer.Outcome
	case status < http.StatusInternalServerError:
		outcome = outcomeInvalid
	}
	m.reviews.WithLabelValues(operation, outcome).Inc()
}
