package api

import (
	"github.com/tiergate/tiergate/internal/lookback"
	"github.com/tiergate/tiergate/policy"
)

// follow has a candidate policy tried on what the server decides, and counts how it differs. The labels are bounded: checks of two
// revisions and their outcomes.
func (s *Server) follow(candidate *policy.Engine) {
	tried := counter("tiergate_shadow_decisions_total",
		"Launches on which the shadow policy was tried: agree, disagree, error if it could not decide, skipped if there was no time.", "result")
	flips := counter("tiergate_shadow_disagreements_total", "Checks, and verdicts, that come out differently under the shadow policy.",
		"check", "active", "shadow")
	for _, result := range []string{"agree", "disagree", "error", "skipped"} {
		tried.WithLabelValues(result)
	}
	s.registry.MustRegister(tried, flips)
	s.shadow = lookback.NewShadow(lookback.ShadowOptions{
		Engine: candidate, Timeout: s.config.DecisionTimeout, Logger: s.log,
		Skipped: tried.WithLabelValues("skipped").Inc,
		Tried: func(differ []lookback.Flip, err error) {
			switch {
			case err != nil:
				tried.WithLabelValues("error").Inc()
			case len(differ) == 0:
				tried.WithLabelValues("agree").Inc()
			default:
				tried.WithLabelValues("disagree").Inc()
			}
			for _, f := range differ {
				flips.WithLabelValues(f.Check, f.From, f.To).Inc()
			}
		},
	})
}
