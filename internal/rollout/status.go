package rollout

import (
	"errors"
	"fmt"
	"io/fs"
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
	case r.engine == nil: // a start that fails says so by itself
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

// begun notes what is in force from the start, and says what may surprise.
func (r *Rollout) begun(c *content) {
	r.inForce(c)
	for _, o := range r.origins {
		if o.remote == nil {
			continue
		}
		r.mu.Lock()
		o.status.ETag, o.status.Kept = o.remote.etag, o.remote.kept
		r.mu.Unlock()
		if o.remote.kept {
			r.opts.Logger.Info("policy begins with the last good copy; its server is asked next", "source", o.status.Source, "copy", o.remote.copyPath())
		}
	}
	if _, err := readLaunches(c.launches); c.launchesErr != nil || err != nil {
		r.opts.Logger.Warn("stored launches cannot be read; no change of policy passes until they can", "error", errors.Join(c.launchesErr, err))
	}
}

// activated notes what is in force from now on.
func (r *Rollout) activated(c *content, report *v1.PolicyReport) {
	previous := r.Status().Revision
	r.inForce(c)
	r.opts.Logger.Info("policy activated", "revision", r.Status().Revision, "previous", previous, "content", c.digest,
		"tests", report.Tests, "flips", flipTexts(report.Flips))
}

func (r *Rollout) inForce(c *content) {
	info, _ := r.engine.Info()
	r.mu.Lock()
	r.status.Revision, r.status.Content, r.status.Activated, r.status.Candidate = info.Revision, c.digest, r.now(), nil
	r.counts[v1.StageActive]++
	r.mu.Unlock()
	r.keep()
}

// keep writes copies of what is in force and came over a network. A disk that takes none is no outage.
func (r *Rollout) keep() {
	for _, o := range r.origins {
		if o.remote == nil {
			continue
		}
		err, before := o.remote.keep(), o.remote.unsavable
		if o.remote.unsavable = ""; err != nil {
			o.remote.unsavable = reasonOf(err)
		}
		switch {
		case err != nil && before != o.remote.unsavable:
			r.opts.Logger.Warn("last good policy not kept; a start without its server would fail", "source", o.status.Source, "error", err)
		case err == nil && before != "":
			r.opts.Logger.Info("last good policy kept after all", "source", o.status.Source)
		}
	}
}

// reasonOf leaves the names of files out, which may be random.
func reasonOf(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
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
