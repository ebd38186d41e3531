package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Status tells what is in force and how changing that fares.
func (r *Rollout) Status() v1.PolicyStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status
	s.Sources = make([]v1.PolicySource, 0, len(r.origins))
	for _, o := range r.origins {
		s.Sources = append(s.Sources, o.status)
	}
	return s
}

// Trials counts trials by the stage at which they ended.
func (r *Rollout) Trials() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.counts)
}

// note keeps how reading a source went, and says when that changes.
func (r *Rollout) note(o *origin, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
	} else {
		o.status.Read = r.now()
	}
	switch {
	case text != "" && text != o.status.Error:
		r.opts.Logger.Warn("policy source cannot be read; what is in force stays", "source", o.status.Source, "error", text)
	case text == "" && o.status.Error != "":
		r.opts.Logger.Info("policy source can be read again", "source", o.status.Source)
	}
	o.status.Error = text
	if o.remote != nil {
		o.status.ETag, o.status.Kept = o.remote.etag, o.remote.kept
	}
}

// activated notes what is in force, and keeps copies of what came over a network.
func (r *Rollout) activated(c *content, report *v1.PolicyReport) {
	info, _ := r.engine.Info()
	r.mu.Lock()
	first := r.status.Revision == ""
	previous := r.status.Revision
	r.status.Revision, r.status.Content, r.status.Activated, r.status.Candidate = info.Revision, c.digest, r.now(), nil
	r.counts[v1.StageActive]++
	r.mu.Unlock()
	if !first {
		r.opts.Logger.Info("policy activated", "revision", info.Revision, "previous", previous, "content", c.digest, "tests", report.Tests,
			"flips", flipTexts(report.Flips))
	}
	for _, o := range r.origins {
		if o.remote == nil {
			continue
		}
		if err := o.remote.keep(); err != nil {
			r.opts.Logger.Warn("last good policy not kept; a start without its server would fail", "source", o.status.Source, "error", err)
		}
	}
}

// refuse notes a content that is not put in force.
func (r *Rollout) refuse(content string, report *v1.PolicyReport) {
	r.refused = content
	r.mu.Lock()
	r.status.Candidate = report
	r.counts[report.Stage]++
	inForce := r.status.Revision
	r.mu.Unlock()
	r.opts.Logger.Error("policy refused; what is in force stays", "stage", report.Stage, "in_force", inForce, "candidate", report.Revision,
		"content", report.Content, "findings", texts(report.Findings))
}

// withdrawn forgets a candidate that was refused, because the sources are back at what is in force.
func (r *Rollout) withdrawn() {
	r.mu.Lock()
	gone := r.status.Candidate != nil
	r.status.Candidate = nil
	r.mu.Unlock()
	r.refused = ""
	if gone {
		r.opts.Logger.Info("refused policy is gone; the sources are what is in force")
	}
}

// maxTold bounds how many findings a log line has.
const maxTold = 20

func texts(findings []v1.PolicyFinding) string {
	var lines []string
	for _, f := range findings {
		switch {
		case f.File == "":
			lines = append(lines, f.Message)
		case f.Line == 0:
			lines = append(lines, f.File+": "+f.Message)
		default:
			lines = append(lines, fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message))
		}
	}
	return bounded(lines)
}

func flipTexts(flips []v1.LaunchFlip) string {
	var lines []string
	for _, f := range flips {
		lines = append(lines, fmt.Sprintf("%s %s -> %s", f.Launch, f.From, f.To))
	}
	return bounded(lines)
}

func bounded(lines []string) string {
	if n := len(lines) - maxTold; n > 0 {
		lines = append(slices.Clip(lines[:maxTold]), fmt.Sprintf("and %d more", n))
	}
	return strings.Join(lines, "\n")
}

func (r *Rollout) now() time.Time { return r.opts.Policy.Now().UTC() }
