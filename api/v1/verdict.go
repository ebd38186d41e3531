package v1

// The outcomes of a check; a verdict is one of allow, deny and unknown.
const (
	Pass          = "pass"
	Fail          = "fail"
	Unknown       = "unknown"
	NotApplicable = "not_applicable"

	Allow = "allow"
	Deny  = "deny"
)

// The enforcements of a check. Deny decides the verdict, warn is shown, dryrun is only counted.
const (
	EnforceDeny   = "deny"
	EnforceWarn   = "warn"
	EnforceDryrun = "dryrun"
)

// Verdict is the policy's answer to a launch: deny if a denying check fails, else unknown if a denying check is unknown,
// else allow. Equal digests mean equal verdicts.
type Verdict struct {
	Outcome string        `json:"outcome"`
	Checks  []CheckResult `json:"checks"`
	// Probe lists the groups whose members must prove at KV registration that they share memory.
	Probe []Group `json:"probe"`
	// Assumed names what was taken for granted because no fact was given, e.g. that two node ids are two hosts.
	Assumed []string `json:"assumed,omitempty"`
	// Disabled lists the shipped checks that the site turned off.
	Disabled []Disabled `json:"disabled,omitempty"`
	Revision string     `json:"revision"`
	Digest   string     `json:"digest"`
}

// CheckResult is the outcome of one check. Missing names the absent facts behind unknown or not_applicable.
type CheckResult struct {
	ID          string      `json:"id"`
	Outcome     string      `json:"outcome"`
	Enforcement string      `json:"enforcement"`
	Violations  []Violation `json:"violations"`
	// MoreViolations counts those that a rank is not told at KV registration, because thousands get the same answer.
	MoreViolations int64    `json:"more_violations,omitempty"`
	Missing        []string `json:"missing,omitempty"`
	Waiver         *Waiver  `json:"waiver,omitempty"`
}

// Violation is one reason why a check fails: what is wrong and what was seen, and in Fix what to change.
type Violation struct {
	Message string   `json:"message"`
	Group   *Group   `json:"group,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
	Fix     string   `json:"fix,omitempty"`
}

// Group is a set of ranks that talk to each other, in group order. Kind is tp, pp, pcp, dcp, dp or ep.
type Group struct {
	Kind  string  `json:"kind"`
	Ranks []int64 `json:"ranks"`
}

// Waiver is the accepted exception that turned a denying check into a warning.
type Waiver struct {
	Owner   string `json:"owner"`
	Reason  string `json:"reason"`
	Expires string `json:"expires"`
}

// Disabled is a shipped check that policy data turned off.
type Disabled struct {
	ID     string `json:"id"`
	Owner  string `json:"owner"`
	Reason string `json:"reason"`
}
