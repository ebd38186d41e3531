package api

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/decisionlog"
	"github.com/tiergate/tiergate/internal/rendezvous"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
)

const (
	// launchWeight is about how many bytes a decoded launch takes for one of its text, and rankBytes for one rank.
	launchWeight = 4
	rankBytes    = 1 << 10
)

// record puts an answer to a launcher into the decision log. What the policy could not decide is in the log of requests.
func (x *exchange) record(launch *v1.Launch, d *policy.Decision, evaluation time.Duration, received int64) {
	if x.server.decisions == nil {
		return
	}
	r := recordOf(decisionlog.KindValidate, topology.StageLaunch, launch, d, evaluation)
	if path := x.c.Param("*"); path != "" {
		r.Kind, r.Path = decisionlog.KindData, path
	}
	r.DecisionID = x.id
	x.sign(r)
	r.Metrics[decisionlog.TimerHandler] = time.Since(x.start).Nanoseconds()
	x.server.decisions.Record(r, received*launchWeight+int64(len(d.JSON)))
}

// sign notes who asked.
func (x *exchange) sign(r *decisionlog.Record) {
	r.RequestedBy, r.Tenant = x.r.RemoteAddr, x.identity.Tenant
	if x.identity != anonymous {
		r.Identity = x.identity.Name
	}
}

// recordRegistration puts the verdict of an attempt into the decision log.
func (s *Server) recordRegistration(key rendezvous.Key, launch *v1.Launch, d *policy.Decision, evaluation time.Duration) {
	if s.decisions == nil {
		return
	}
	r := recordOf(decisionlog.KindRegistration, topology.StageRegistration, launch, d, evaluation)
	r.DecisionID, r.Tenant = requestID(nil), key.Tenant
	s.decisions.Record(r, int64(len(launch.Workers))*rankBytes+int64(len(d.JSON)))
}

func recordOf(kind, stage string, launch *v1.Launch, d *policy.Decision, evaluation time.Duration) *decisionlog.Record {
	return &decisionlog.Record{
		Kind: kind, Path: policy.Verdict, Stage: stage, Now: d.Now, Revision: d.Revision, Digest: d.Digest, Engine: launch.Engine.ID,
		Timestamp: time.Now().UTC(), Metrics: map[string]int64{decisionlog.TimerEvaluation: evaluation.Nanoseconds()},
		Input: launch, Result: d.JSON,
	}
}

// recordEnd puts an admission into the decision log, with the revision and the digest of its verdict. Other ends of attempts
// are no decisions.
func (s *Server) recordEnd(key rendezvous.Key, end *v1.AttemptEnd, admission *v1.Admission, verdict *v1.Verdict) {
	if s.decisions == nil || admission == nil {
		return
	}
	r := &decisionlog.Record{
		DecisionID: requestID(nil), Kind: decisionlog.KindAdmission, Tenant: key.Tenant, Engine: key.Engine, Attempt: end.Attempt, AttemptID: end.AttemptID,
		Timestamp: time.Now().UTC(), Result: encode(admission),
	}
	if verdict != nil {
		r.Revision, r.Digest = verdict.Revision, verdict.Digest
	}
	s.decisions.Record(r, int64(len(r.Result)))
}

// recordCore puts the admission of an engine core into the decision log.
func (x *exchange) recordCore(key rendezvous.Key, admission *v1.CoreAdmission) {
	if x.server.decisions == nil || admission == nil {
		return
	}
	r := &decisionlog.Record{
		DecisionID: x.id, Kind: decisionlog.KindCore, Engine: key.Engine, Attempt: admission.Attempt, AttemptID: admission.AttemptID,
		Timestamp: time.Now().UTC(), Result: encode(admission),
	}
	x.sign(r)
	x.server.decisions.Record(r, int64(len(r.Result)))
}

// decisionCounters tell how the decision log fares; there are none without one.
func (s *Server) decisionCounters() (out []prometheus.Collector) {
	if s.decisions == nil {
		return nil
	}
	count := func(name, help string, labels prometheus.Labels, value func(decisionlog.Stats) int64) {
		out = append(out, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(value(s.decisions.Stats())) }))
	}
	count("tiergate_decision_log_recorded_total", "Decisions given to the decision log.", nil,
		func(s decisionlog.Stats) int64 { return s.Recorded })
	count("tiergate_decision_log_spooled_total", "Decisions that are safe on disk.", nil,
		func(s decisionlog.Stats) int64 { return s.Spooled })
	count("tiergate_decision_log_delivered_total", "Decisions that the sink has taken.", nil,
		func(s decisionlog.Stats) int64 { return s.Delivered })
	for _, reason := range decisionlog.Reasons {
		count("tiergate_decision_log_dropped_total", "Decisions that the log lost, by reason.", prometheus.Labels{"reason": reason},
			func(s decisionlog.Stats) int64 { return s.Dropped[reason] })
	}
	return out
}

const (
	// shownDecisions and mostDecisions are how many decisions one answer has, without and with a limit in the query.
	shownDecisions = 100
	mostDecisions  = 1000
)

// recentDecisions answers GET /v1/decisions: the last ones of the tenant that are in memory, as the decision log has them.
func (x *exchange) recentDecisions() error {
	q, err := parseQuery(x.r.URL)
	if err != nil {
		return err
	}
	limit := shownDecisions
	if text := x.r.URL.Query().Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > mostDecisions {
			return &refusal{v1.CodeInvalidParameter, fmt.Sprintf("limit is %.64q; allowed is a whole number from 1 to %d", text, mostDecisions)}
		}
	}
	if x.place, err = x.server.queue.enter(); err != nil {
		return err
	}
	list := x.server.decisions.Recent(x.identity.Tenant, x.r.URL.Query().Get("engine"), limit)
	text := encode(map[string]any{"decisions": list})
	if err := x.place.reserve(int64(len(text))); err != nil {
		return err
	}
	x.answer(q, text)
	return nil
}
