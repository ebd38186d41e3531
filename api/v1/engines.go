package v1

import "time"

// Engines lists the engines that the service knows, by name.
type Engines struct {
	Engines []EngineSummary `json:"engines"`
}

// EngineSummary is an engine with its last attempt.
type EngineSummary struct {
	Engine    string    `json:"engine"`
	Attempt   int64     `json:"attempt"`
	AttemptID string    `json:"attempt_id"`
	Phase     string    `json:"phase"`
	Opened    time.Time `json:"opened"`
	// WorldSize and Reported count ranks.
	WorldSize int64 `json:"world_size"`
	Reported  int64 `json:"reported"`
	// Outcome is allow or reject where the attempt ended with an admission, else how it ended, else empty.
	Outcome string `json:"outcome,omitempty"`
	// Message is the first line of how it ended.
	Message string `json:"message,omitempty"`
}

// EngineView is an engine with all attempts that are remembered, the last first.
type EngineView struct {
	Engine   string        `json:"engine"`
	Attempts []AttemptView `json:"attempts"`
}

// AttemptView is all that is known of an attempt, except nonces and hashes.
type AttemptView struct {
	Engine    string    `json:"engine"`
	Attempt   int64     `json:"attempt"`
	AttemptID string    `json:"attempt_id"`
	Phase     string    `json:"phase"`
	Opened    time.Time `json:"opened"`
	// OpenedBy is the identity that the attempt is bound to.
	OpenedBy         string    `json:"opened_by,omitempty"`
	RemainingMS      int64     `json:"remaining_ms"`
	WorldSize        int64     `json:"world_size"`
	DataParallelRank int64     `json:"data_parallel_rank,omitempty"`
	Parallel         *Parallel `json:"parallel,omitempty"`
	// Ranks are those that reported, in order; Missing those that did not.
	Ranks   []RankView `json:"ranks"`
	Missing []int64    `json:"missing,omitempty"`
	// Unanswered are, in the probe phase, the ranks whose answers are missing.
	Unanswered []int64        `json:"unanswered,omitempty"`
	Verdict    *Verdict       `json:"verdict,omitempty"`
	Admission  *Admission     `json:"admission,omitempty"`
	Core       *CoreAdmission `json:"core,omitempty"`
	End        *AttemptEnd    `json:"end,omitempty"`
	Ended      *time.Time     `json:"ended,omitempty"`
}

// RankView is one rank of an attempt.
type RankView struct {
	Rank        int64     `json:"rank"`
	Incarnation string    `json:"incarnation"`
	Node        string    `json:"node"`
	Pod         string    `json:"pod,omitempty"`
	BootID      string    `json:"boot_id,omitempty"`
	ShmDevice   string    `json:"shm_device,omitempty"`
	Version     string    `json:"version,omitempty"`
	Reported    time.Time `json:"reported"`
	// Domain numbers the memory domains of the attempt from 0; ranks whose domain is unknown have -1.
	Domain int64 `json:"domain"`
	// Probe is what this rank found, by group kind; nil before it answered.
	Probe []RankProbe `json:"probe,omitempty"`
}

// RankProbe is one group of one rank.
type RankProbe struct {
	Kind    string `json:"kind"`
	Leader  int64  `json:"leader"`
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
}
