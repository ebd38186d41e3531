package api

import (
	"github.com/prometheus/client_golang/prometheus"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/access"
	"github.com/tiergate/tiergate/internal/certs"
	"github.com/tiergate/tiergate/internal/rollout"
)

// rolloutMetrics tell how changing the policy fares. The labels are bounded: stages.
func rolloutMetrics(r *rollout.Rollout) (out []prometheus.Collector) {
	for _, stage := range v1.PolicyStages {
		out = append(out, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        "tiergate_policy_reloads_total",
			Help:        "Policies that were tried, by the stage at which the trial ended; active is one that was put in force.",
			ConstLabels: prometheus.Labels{"stage": stage},
		}, func() float64 { return float64(r.Trials()[stage]) }))
	}
	gauge := func(name, help string, value func(v1.PolicyStatus) float64) {
		out = append(out, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value(r.Status()) }))
	}
	gauge("tiergate_policy_activated_timestamp_seconds", "When the policy in force was put in force.",
		func(s v1.PolicyStatus) float64 { return float64(s.Activated.Unix()) })
	gauge("tiergate_policy_candidate_refused", "1 while the sources hold a policy that was refused.", func(s v1.PolicyStatus) float64 {
		if s.Candidate != nil {
			return 1
		}
		return 0
	})
	gauge("tiergate_policy_sources_failing", "Sources that cannot be read now.", func(s v1.PolicyStatus) (n float64) {
		for _, source := range s.Sources {
			if source.Error != "" {
				n++
			}
		}
		return n
	})
	return out
}

// accessMetrics tell how reloading the access file, and the keys of a cluster, fares.
func accessMetrics(g *access.Guard) (out []prometheus.Collector) {
	for _, what := range []struct {
		label string
		count func(access.State) access.Count
	}{
		{"file", func(s access.State) access.Count { return s.Reloads }},
		{"keys", func(s access.State) access.Count { return s.Keys }},
	} {
		labels := prometheus.Labels{"what": what.label}
		add := func(result string, value func(access.Count) float64) {
			out = append(out, prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "tiergate_access_reloads_total", Help: "Readings of a changed access file, and of a cluster's keys, by result: success, failure.",
				ConstLabels: prometheus.Labels{"what": what.label, "result": result},
			}, func() float64 { return value(what.count(g.State())) }))
		}
		add("success", func(c access.Count) float64 { return float64(c.Successes) })
		add("failure", func(c access.Count) float64 { return float64(c.Failures) })
		out = append(out, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tiergate_access_last_success_timestamp_seconds", Help: "When an access file, or a cluster's keys, were taken last; 0 for never.",
			ConstLabels: labels,
		}, func() float64 {
			if last := what.count(g.State()).LastSuccess; !last.IsZero() {
				return float64(last.Unix())
			}
			return 0
		}))
	}
	return out
}

// certificateMetrics tell how long the certificate of this side holds, and how reloading it fares.
func certificateMetrics(c *certs.Store) []prometheus.Collector {
	count := func(result string, value func(certs.State) int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "tiergate_tls_reloads_total", Help: "Changed certificate files, by whether they were taken: success, failure.",
			ConstLabels: prometheus.Labels{"result": result},
		}, func() float64 { return float64(value(c.State())) })
	}
	return []prometheus.Collector{
		count("success", func(s certs.State) int64 { return s.Reloads }),
		count("failure", func(s certs.State) int64 { return s.Failures }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tiergate_tls_not_after_timestamp_seconds", Help: "When the certificate in use expires.",
		}, func() float64 { return float64(c.State().NotAfter.Unix()) }),
	}
}
