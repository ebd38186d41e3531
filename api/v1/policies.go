package v1

import "time"

// The stages of the trial of a policy, in order. A trial ends at the first that fails, or at StageActive.
const (
	// StageRead is fetching, limits and signatures; StageCompile parsing, types, capabilities and refusals at load.
	StageRead    = "read"
	StageCompile = "compile"
	// StageTests are the tests that come with the policy, StageLaunches the stored launches.
	StageTests    = "tests"
	StageLaunches = "launches"
	StageActive   = "active"
)

// PolicyStages are all of them.
var PolicyStages = []string{StageRead, StageCompile, StageTests, StageLaunches, StageActive}

// PolicyStatus is what is in force and how changing that fares.
type PolicyStatus struct {
	Revision string `json:"revision"`
	// Content is the digest over the sources of what is in force, since Activated.
	Content   string         `json:"content"`
	Activated time.Time      `json:"activated"`
	Sources   []PolicySource `json:"sources"`
	// Candidate is the content that was refused, unless it is gone again.
	Candidate *PolicyReport `json:"candidate,omitempty"`
}

// PolicySource is how one source fares.
type PolicySource struct {
	Source string `json:"source"`
	ETag   string `json:"etag,omitempty"`
	// Read is when it was read last without an error, and Error why it cannot be read now.
	Read  time.Time `json:"read,omitzero"`
	Error string    `json:"error,omitempty"`
	// Kept tells that the last good copy stands in for a server that was not reached yet.
	Kept bool `json:"kept,omitempty"`
}

// PolicyReport is how the trial of a policy went.
type PolicyReport struct {
	// Stage is where it ended.
	Stage string    `json:"stage"`
	Time  time.Time `json:"time"`
	// Content is the digest over the sources, and Revision the revision that they make; empty if they make none.
	Content  string `json:"content,omitempty"`
	Revision string `json:"revision,omitempty"`
	// Findings are all the reasons of the stage at which the trial ended.
	Findings []PolicyFinding `json:"findings,omitempty"`
	// Tests counts those that passed.
	Tests int `json:"tests,omitempty"`
	// Flips are what changes for stored launches, accepted or not.
	Flips []LaunchFlip `json:"flips,omitempty"`
	// Replay is what changes for decisions that were recorded; only in a preview.
	Replay *Replay `json:"replay,omitempty"`
}

// Refused tells whether the policy may not be put in force.
func (r *PolicyReport) Refused() bool { return r.Stage != StageActive }

// PolicyFinding is one reason against a policy.
type PolicyFinding struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}

// LaunchFlip is what changes for one stored launch.
type LaunchFlip struct {
	Launch string `json:"launch"`
	// From and To are the outcomes of the verdict; error is one that cannot be decided.
	From string `json:"from"`
	To   string `json:"to"`
	// Checks are what comes out differently, the verdict included.
	Checks   []Flip `json:"checks"`
	Accepted bool   `json:"accepted"`
}

// Flip is how one check, or the verdict, comes out under two revisions. An outcome that does not deny has its enforcement
// behind it, e.g. "fail (warn)"; a check that a revision does not have is absent.
type Flip struct {
	Check string `json:"check"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// FlipGroup is a flip with how often it came, and some of the decisions.
type FlipGroup struct {
	Flip
	Count    int      `json:"count"`
	Examples []string `json:"examples"`
}

// Replay is what came of deciding recorded launches again.
type Replay struct {
	Revision string `json:"revision"`
	// Replayed launches were decided again; Skipped records have none, as admissions. Verified had the revision of the replay
	// and came to the same digest; Masked had its revision too, but their inputs lack what a site or a URL kept secret, so that
	// the digest is another.
	Replayed int `json:"replayed"`
	Skipped  int `json:"skipped"`
	Verified int `json:"verified"`
	Masked   int `json:"masked"`
	// Flipped is how many launches come out differently in any check.
	Flipped int         `json:"flipped"`
	Flips   []FlipGroup `json:"flips"`
	// Failed are those that this policy cannot decide. Mismatches had its revision and came to another digest or verdict, which
	// must not be. Both are named by their decisions, up to a limit.
	Failed     []string `json:"failed,omitempty"`
	Mismatches []string `json:"mismatches,omitempty"`
}
