package decisionlog

import (
	"encoding/json"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// The kinds of records.
const (
	KindValidate     = "validate"
	KindData         = "data"
	KindRegistration = "registration"
	KindAdmission    = "admission"
	// KindCore is the admission of an engine core.
	KindCore = "core_admission"
	// KindReview is a verdict on an object that an API server asked about.
	KindReview = "admission_review"
)

// Record is one line of a decision log: an event of OPA's decision logs, with what is Tiergate's own beside it.
type Record struct {
	Labels     map[string]string `json:"labels,omitempty"`
	DecisionID string            `json:"decision_id"`
	Kind       string            `json:"kind"`
	// Path is the entry point that was evaluated; empty for an admission, which folds a verdict and probes.
	Path string `json:"path,omitempty"`
	// Stage is the stage at which the launch was judged, and Now the input.now that the rules saw.
	Stage    string `json:"stage,omitempty"`
	Now      string `json:"now,omitempty"`
	Revision string `json:"revision,omitempty"`
	Digest   string `json:"digest,omitempty"`
	// Engine, Attempt and AttemptID say of which engine it is; the last two only where there is an attempt.
	Engine    string `json:"engine,omitempty"`
	Attempt   int64  `json:"attempt,omitempty"`
	AttemptID string `json:"attempt_id,omitempty"`
	// RequestedBy is the address that asked, Identity who was authenticated there, and Tenant whose engine it is.
	RequestedBy string `json:"requested_by,omitempty"`
	Identity    string `json:"identity,omitempty"`
	Tenant      string `json:"tenant,omitempty"`
	// Review is the question of an API server.
	Review    *Review          `json:"review,omitempty"`
	Timestamp time.Time        `json:"timestamp"`
	Metrics   map[string]int64 `json:"metrics,omitempty"`
	// Input is the launch.
	Input *v1.Launch `json:"input,omitempty"`
	// Masked are the pointers of secrets that were replaced by texts that differ where the secrets did, Erased those of what a
	// site wants removed.
	Masked []string `json:"masked,omitempty"`
	Erased []string `json:"erased,omitempty"`
	// Result is the verdict or the admission.
	Result json.RawMessage `json:"result,omitempty"`
}

// Review says what an API server asked about, and what it was answered. A review with several engines has a record for each,
// all with the decision id of the one answer. Nothing came of it where DryRun is set.
type Review struct {
	UID       string `json:"uid"`
	Operation string `json:"operation"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	User      string `json:"user,omitempty"`
	DryRun    bool   `json:"dry_run,omitempty"`
	// Outcome is the answer's, which may be milder than the verdict's: the docs of the webhook say when.
	Outcome string `json:"outcome"`
}

// The names in Record.Metrics, as OPA's. Nanoseconds.
const (
	TimerEvaluation = "timer_rego_query_eval_ns"
	TimerHandler    = "timer_server_handler_ns"
)
