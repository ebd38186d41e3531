package config

import (
	"net/url"
	"strings"
)

// DecisionLogStdout is the DecisionLog that means standard output.
const DecisionLogStdout = "stdout"

// DecisionLogURL tells whether decisions are posted to a URL.
func (s *Serve) DecisionLogURL() bool { return strings.Contains(s.DecisionLog, "://") }

func (s *Serve) validateDecisionLog(m *mistakes) {
	if s.DecisionLogURL() {
		u, err := url.Parse(s.DecisionLog)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			m.add("decision_log: %q is no address; write stdout, a file, or http://host/path or https://host/path", s.DecisionLog)
		}
	}
	for _, given := range []struct{ key, value string }{
		{"decision_log_spool", s.DecisionLogSpool}, {"decision_log_token", s.DecisionLogToken},
	} {
		if given.value != "" && s.DecisionLog == "" {
			m.add("%s: it is for decision logs, and decision_log says not where to; set decision_log, or leave it out", given.key)
		}
	}
	m.within("decision_log_buffer", s.DecisionLogBuffer, 1<<20, 1<<40)
	m.within("decision_log_spool_max", s.DecisionLogSpoolMax, 1<<20, 1<<50)
	m.within("decision_log_file_max", s.DecisionLogFileMax, 1<<10, 1<<50)
	m.positive("decision_log_files", s.DecisionLogFiles)
}
