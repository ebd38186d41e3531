package api

import (
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/vllm"
)

// metrics counts. Every label has a bounded set of values: routes, codes, outcomes, and the ids of the checks in force.
type metrics struct {
	handler http.Handler

	requests  *prometheus.CounterVec
	refused   *prometheus.CounterVec
	checks    *prometheus.CounterVec
	reviews   *prometheus.CounterVec
	decisions map[string]prometheus.Counter
	seconds   prometheus.Histogram
	waited    prometheus.Histogram

	attempts      *prometheus.CounterVec
	admissions    *prometheus.CounterVec
	disagreements prometheus.Counter
	verdicts      prometheus.Histogram
	admitted      prometheus.Histogram

	// byCheck has the counters that were used, since finding them by labels would cost as much as a check.
	byCheck atomic.Pointer[map[checkOutcome]prometheus.Counter]
}

// The outcomes of a decision that gave no verdict: the launch cannot be judged, or the policy failed.
const (
	outcomeInvalid = "invalid"
	outcomeError   = "error"
)

func newMetrics(engine *policy.Engine) (*metrics, *prometheus.Registry) {
	decisions := counter("tiergate_decisions_total",
		"Launches by outcome: allow, deny, unknown; invalid if it cannot be judged, error if the policy failed.",
		"outcome")
	m := &metrics{
		requests: counter("tiergate_http_requests_total", "Requests by route, method and status code.",
			"route", "method", "code"),
		refused: counter("tiergate_queue_rejections_total",
			"Requests refused because all places were taken, the bodies held too many bytes, no turn came in time, or too many "+
				"clients are waiting or watching.",
			"reason"),
		checks: counter("tiergate_check_outcomes_total", "Checks of judged launches by outcome and enforcement.",
			"check", "outcome", "enforcement"),
		reviews: counter("tiergate_admission_reviews_total",
			"Reviews of API servers by operation and outcome: allow, deny, unknown, tolerated, ignored; invalid if it cannot be "+
				"judged, error if there was no decision.", "operation", "outcome"),
		decisions: map[string]prometheus.Counter{},
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tiergate_evaluation_seconds", Help: "Time from a decoded launch to its verdict.",
			Buckets: []float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 100e-3, 1, 5},
		}),
		waited: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tiergate_queue_wait_seconds", Help: "Time from a launch's complete body to its turn, or to its being turned away.",
			Buckets: []float64{100e-6, 1e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 5},
		}),
	}
	for _, outcome := range []string{v1.Allow, v1.Deny, v1.Unknown, outcomeInvalid, outcomeError} {
		m.decisions[outcome] = decisions.WithLabelValues(outcome)
	}
	m.makeAttempts()
	for _, reason := range []string{reasonPlaces, reasonBytes, reasonDeadline, reasonCrowd, reasonWaiting, reasonWatching} {
		m.refused.WithLabelValues(reason)
	}
	m.byCheck.Store(&map[checkOutcome]prometheus.Counter{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "tiergate_evaluation_steps_total",
		Help: "Steps that evaluations took, counted at loops and rules; each may take its budget at most.",
	}, func() float64 { return float64(engine.Steps()) }))
	registry.MustRegister(m.reviews, m.attempts, m.admissions, m.disagreements, m.verdicts, m.admitted)
	registry.MustRegister(m.requests, m.refused, m.checks, m.seconds, m.waited, decisions, policyInfo{engine},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return m, registry
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// answered counts a request.
func (m *metrics) answered(rt *route, status int) {
	if status == http.StatusOK && rt.succeeded != nil {
		rt.succeeded.Inc()
		return
	}
	m.requests.WithLabelValues(rt.path, rt.method, strconv.Itoa(status)).Inc()
}

// decided counts a decision and its checks. The results of other entry points have no outcome.
func (m *metrics) decided(d policy.Decision, err error, elapsed time.Duration) {
	m.seconds.Observe(elapsed.Seconds())
	switch {
	case err != nil:
		m.decisions[failure(err)].Inc()
	case d.Outcome != "":
		m.decisions[d.Outcome].Inc()
		eachCheck(d.JSON, m.checked)
	}
}

// failure is the outcome that stands for an error.
func failure(err error) string {
	var input *topology.InputError
	var engine *vllm.Error
	if errors.As(err, &input) || errors.As(err, &engine) {
		return outcomeInvalid
	}
	return outcomeError
}

// checked counts one check.
func (m *metrics) checked(id, outcome, enforcement []byte) {
	known := *m.byCheck.Load()
	if c, ok := known[checkOutcome{string(id), string(outcome), string(enforcement)}]; ok {
		c.Inc()
		return
	}
	key := checkOutcome{string(id), string(outcome), string(enforcement)}
	c := m.checks.WithLabelValues(key.id, key.outcome, key.enforcement)
	c.Inc()
	grown := make(map[checkOutcome]prometheus.Counter, len(known)+1)
	for k, v := range known {
		grown[k] = v
	}
	grown[key] = c
	m.byCheck.Store(&grown) // Of two that grow it at once one is lost, and found again by labels.
}

// expose answers GET /metrics.
func (x *exchange) expose() error {
	x.status = http.StatusOK
	x.w.Header()[headerID] = []string{x.id}
	x.server.metrics.handler.ServeHTTP(x.w, x.r)
	return nil
}

// policyInfo is a gauge that is 1 for the revision in force.
type policyInfo struct{ engine *policy.Engine }

var policyInfoDesc = prometheus.NewDesc("tiergate_policy_info", "1 for the policy in force.",
	[]string{"revision", "digest"}, nil)

func (policyInfo) Describe(ch chan<- *prometheus.Desc) { ch <- policyInfoDesc }

func (p policyInfo) Collect(ch chan<- prometheus.Metric) {
	if info, err := p.engine.Info(); err == nil {
		ch <- prometheus.MustNewConstMetric(policyInfoDesc, prometheus.GaugeValue, 1, info.Revision, info.Digest)
	}
}
