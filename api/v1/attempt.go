package v1

// The phases of an attempt.
const (
	// PhaseReport: ranks are still missing, or the verdict is being made.
	PhaseReport = "report"
	// PhaseProbe: there is a verdict; ranks open segments and answer.
	PhaseProbe = "probe"
	// PhaseEnded: there is an end.
	PhaseEnded = "ended"
)

// The outcomes of an admission, besides Allow.
const Reject = "reject"

// The outcomes of a probe: of one rank for one group, and of a group, which is shared only if it is for every member.
const (
	Shared    = "shared"
	NotShared = "not_shared"
	// Unknown, as for checks: the rank could not tell, and says why.
)

// Progress is the answer to a report and to probe answers: a 200 when there is what the caller waits for (the verdict, or
// the admission), a 202 with who is missing when there is not yet.
type Progress struct {
	Attempt   int64  `json:"attempt"`
	AttemptID string `json:"attempt_id"`
	Phase     string `json:"phase"`
	// RemainingMS is what is left of the phase, counted by the service; after it the attempt times out.
	RemainingMS int64 `json:"remaining_ms"`
	// Missing are the ranks that did not report yet, or in the probe phase did not answer yet.
	Missing []int64 `json:"missing,omitempty"`
	// Verdict is the one of the attempt, with at most 16 violations a check; its probe lists the groups of this rank.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Segments are what this rank must open, in this order: those of the leaders of its TP, PP and PCP group.
	Segments []OpenSegment `json:"segments,omitempty"`
	// Admission is there once the attempt has ended with one; then nothing is to be opened any more.
	Admission *Admission `json:"admission,omitempty"`
	// Ignored are fields of a newer protocol that the service did not understand.
	Ignored []string `json:"ignored,omitempty"`
}

// OpenSegment is a leader's segment in the group of that kind. Name is empty where the leader has none.
type OpenSegment struct {
	Kind   string `json:"kind"`
	Leader int64  `json:"leader"`
	Name   string `json:"name,omitempty"`
}

// Probe is what one rank read from the segments it was told to open.
type Probe struct {
	Protocol    string        `json:"protocol"`
	AttemptID   string        `json:"attempt_id"`
	Incarnation string        `json:"incarnation"`
	Answers     []ProbeAnswer `json:"answers"`
}

// ProbeAnswer is one opened segment. Outcome is the rank's own; the service believes shared only if the nonce is right.
type ProbeAnswer struct {
	Kind    string `json:"kind"`
	Outcome string `json:"outcome"`
	// Nonce is what was read, in hex; only with shared.
	Nonce string     `json:"nonce,omitempty"`
	Error *LocalFail `json:"error,omitempty"`
}

// CoreReport is what the engine core says of where it runs, before it opens the region or a tier.
type CoreReport struct {
	Protocol    string    `json:"protocol"`
	AttemptID   string    `json:"attempt_id"`
	Incarnation string    `json:"incarnation"`
	Facts       NodeFacts `json:"facts"`
}

// CoreAdmission answers a CoreReport: allow, or reject with the reason.
type CoreAdmission struct {
	Outcome   string `json:"outcome"`
	Attempt   int64  `json:"attempt"`
	AttemptID string `json:"attempt_id"`
	Message   string `json:"message"`
	// RankNode and CoreNode are where rank 0 and the core are, for people.
	RankNode string `json:"rank_node,omitempty"`
	CoreNode string `json:"core_node,omitempty"`
}

// Admission is the verdict and the probes of all ranks, folded: one answer for every rank of the attempt.
type Admission struct {
	Outcome   string `json:"outcome"`
	Attempt   int64  `json:"attempt"`
	AttemptID string `json:"attempt_id"`
	// Code is, for a reject, the id of the failing check, or probe, disagreement, or an evaluation code.
	Code string `json:"code,omitempty"`
	// Message is, for a reject, what every rank's error says.
	Message string `json:"message,omitempty"`
	// Groups are the probed groups with what the facts and the probe say of them. Where both say shared they have no members.
	Groups []ProbedGroup `json:"groups,omitempty"`
	// MoreGroups counts those that are left out of Groups, because there are too many to be kept in one record. Groups that
	// are not shared are left out last.
	MoreGroups int64 `json:"more_groups,omitempty"`
	// Disagreement is true where facts and probe contradict each other.
	Disagreement bool `json:"disagreement,omitempty"`
	// Rank is the entry of the rank that asks.
	Rank *AdmittedRank `json:"rank,omitempty"`
}

// AdmittedRank is what an admission is bound to, for one rank. A runtime compares it with its own before it acts.
type AdmittedRank struct {
	Rank                int64  `json:"rank"`
	Incarnation         string `json:"incarnation"`
	ConfigurationDigest string `json:"configuration_digest"`
	SegmentSHA256       string `json:"segment_sha256,omitempty"`
}

// ProbedGroup is a group with the outcome of its probe, and what the facts say: shared, not_shared or unknown.
type ProbedGroup struct {
	Kind    string  `json:"kind"`
	Ranks   []int64 `json:"ranks"`
	Outcome string  `json:"outcome"`
	Facts   string  `json:"facts"`
	// Members are those whose outcome is not shared.
	Members []ProbedMember `json:"members,omitempty"`
	// MoreMembers counts those that are left out of Members.
	MoreMembers int64 `json:"more_members,omitempty"`
}

// ProbedMember is the outcome of one rank for one group. Reason says why it is not shared.
type ProbedMember struct {
	Rank    int64  `json:"rank"`
	Node    string `json:"node"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
}

// The ways in which an attempt ends, besides an admission.
const (
	EndAdmission  = "admission"
	EndRevoked    = "revoked"
	EndSuperseded = "superseded"
	EndDuplicate  = "duplicate_rank"
	EndTimedOut   = "timed_out"
)

// AttemptEnd is how an attempt ended. It is written once.
type AttemptEnd struct {
	Attempt   int64  `json:"attempt"`
	AttemptID string `json:"attempt_id"`
	Kind      string `json:"kind"`
	// Ranks are those that caused it: the missing, duplicate or superseded ones.
	Ranks []int64 `json:"ranks,omitempty"`
	// Message names the ranks and says what to do.
	Message string `json:"message"`
}

// Revocation is the body of a DELETE of an attempt; it may be left out. With AttemptID only the attempt of that id is
// revoked: numbers repeat when a service forgot its attempts.
type Revocation struct {
	AttemptID string `json:"attempt_id,omitempty"`
	Reason    string `json:"reason,omitempty"`
}
