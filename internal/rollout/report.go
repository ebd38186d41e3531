package rollout

import (
	"errors"
	"time"

	"github.com/tiergate/tiergate/internal/lookback"
	"github.com/tiergate/tiergate/policy"
)

// The stages of a trial, in order. A trial ends at the first that fails, or at StageActive.
const (
	// StageRead is fetching, limits and signatures; StageCompile parsing, types, capabilities and refusals at load.
	StageRead    = "read"
	StageCompile = "compile"
	// StageTests are the sources' own tests, StageLaunches the stored launches.
	StageTests    = "tests"
	StageLaunches = "launches"
	StageActive   = "active"
)

// Stages are all of them.
var Stages = []string{StageRead, StageCompile, StageTests, StageLaunches, StageActive}

// Report is how the trial of a candidate went.
type Report struct {
	// Stage is where it ended.
	Stage string    `json:"stage"`
	Time  time.Time `json:"time"`
	// Content is the digest over the sources, and Revision the revision that they make; empty if they make none.
	Content  string `json:"content,omitempty"`
	Revision string `json:"revision,omitempty"`
	// Findings are all the reasons of the stage at which the trial ended.
	Findings []Finding `json:"findings,omitempty"`
	// Tests counts those that passed.
	Tests int `json:"tests,omitempty"`
	// Flips are what changes for stored launches, accepted or not.
	Flips []Flip `json:"flips,omitempty"`
	// Replay is what changes for decisions that were recorded; only for a preview.
	Replay *lookback.Summary `json:"replay,omitempty"`
}

// Refused tells whether the candidate may not be put in force.
func (r *Report) Refused() bool { return r.Stage != StageActive }

// Finding is one reason against a candidate.
type Finding struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

// Flip is what changes for one stored launch.
type Flip struct {
	Launch string `json:"launch"`
	// From and To are the outcomes of the verdict.
	From string `json:"from"`
	To   string `json:"to"`
	// Checks are what comes out differently, the verdict included.
	Checks   []lookback.Flip `json:"checks"`
	Accepted bool            `json:"accepted"`
}

// findings are what an error has to say.
func findings(err error) (out []Finding) {
	var list policy.Errors
	var one *policy.Error
	switch {
	case errors.As(err, &list):
		for _, e := range list {
			out = append(out, Finding{e.File, e.Row, e.Code, e.Message})
		}
	case errors.As(err, &one):
		out = append(out, Finding{one.File, one.Row, one.Code, one.Message})
	default:
		out = append(out, Finding{Message: err.Error()})
	}
	return out
}
