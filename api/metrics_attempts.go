package api

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// makeAttempts makes what counts attempts. Each is counted once, by the process that wrote its end.
func (m *metrics) makeAttempts() {
	m.attempts = counter("tiergate_attempts_total",
		"Attempts by how they ended: admission, revoked, superseded, duplicate_rank, timed_out.", "end")
	m.admissions = counter("tiergate_admissions_total",
		"Admissions by outcome, allow or reject, and for a reject by the check or other reason that decided.", "outcome", "code")
	m.disagreements = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "tiergate_disagreements_total", Help: "Admissions in which facts and probe contradict each other.",
	})
	m.verdicts = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "tiergate_verdict_seconds", Help: "Time that the policy took for a verdict on the reports of an attempt.",
		Buckets: []float64{1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 5},
	})
	m.admitted = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "tiergate_admission_seconds", Help: "Time from the last report of an attempt to its admission.",
		Buckets: []float64{5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
	})
	for _, end := range []string{v1.EndAdmission, v1.EndRevoked, v1.EndSuperseded, v1.EndDuplicate, v1.EndTimedOut} {
		m.attempts.WithLabelValues(end)
	}
	m.admissions.WithLabelValues(v1.Allow, "")
}

// verdict counts the verdict of an attempt.
func (m *metrics) verdict(elapsed time.Duration) { m.verdicts.Observe(elapsed.Seconds()) }

// ended counts an attempt.
func (m *metrics) ended(kind, outcome, code string, disagreement bool, sinceReports time.Duration) {
	m.attempts.WithLabelValues(kind).Inc()
	if kind != v1.EndAdmission {
		return
	}
	m.admissions.WithLabelValues(outcome, code).Inc()
	m.admitted.Observe(sinceReports.Seconds())
	if disagreement {
		m.disagreements.Inc()
	}
}

// attemptGauges show what is going on between workers.
func (s *Server) attemptGauges() []prometheus.Collector {
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	return []prometheus.Collector{
		gauge("tiergate_attempts_open", "Attempts that have not ended.", func() int {
			open, _ := s.rendezvous.Load()
			return open
		}),
		gauge("tiergate_workers_waiting", "Calls of workers that wait for other ranks.", func() int {
			_, waiting := s.rendezvous.Load()
			return waiting
		}),
		gauge("tiergate_watchers", "Streams of changes that are open.", s.watching.load),
	}
}
