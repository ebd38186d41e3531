package v1

// The codes of problems that lie in a request or in the state of the service. Documents that cannot be read and
// launches that cannot be judged have codes of their own, which the service's description lists.
const (
	// CodeNotFound: no such route. CodeMethodNotAllowed: the route has other methods, which Allow names.
	CodeNotFound         = "not_found"
	CodeMethodNotAllowed = "method_not_allowed"
	// CodeNotEnabled: the route exists, but the service was not told to serve it.
	CodeNotEnabled = "not_enabled"
	// CodeUnknownEntrypoint: the policy declares no entry point of that path.
	CodeUnknownEntrypoint   = "unknown_entrypoint"
	CodeInvalidParameter    = "invalid_parameter"
	CodeUnsupportedEncoding = "unsupported_encoding"
	CodeBodyTimeout         = "body_timeout"
	CodeIncompleteBody      = "incomplete_body"

	// CodeUnauthenticated: who asks is not known. CodeForbidden: it is, and may not ask this. CodeRateLimited: it asks too
	// often; worth a retry after Retry-After. CodeKeysUnavailable: who asks cannot be told now; worth a retry too.
	CodeUnauthenticated = "unauthenticated"
	CodeForbidden       = "forbidden"
	CodeRateLimited     = "rate_limited"
	CodeKeysUnavailable = "keys_unavailable"
	// CodePolicyRefused: a new policy was refused, and the problem has its findings. CodeVerdictsFlip: it would decide stored
	// launches otherwise, and nobody has accepted that by name.
	CodePolicyRefused = "policy_refused"
	CodeVerdictsFlip  = "verdicts_would_flip"
	// CodeStale: what is in force is not what If-Match names.
	CodeStale = "stale"

	// CodeInvalidReview: no AdmissionReview that can be answered. CodeInvalidEngine: the object of one starts an engine in a
	// way that cannot be followed. CodeTooManyPods: it has more pods than are judged.
	CodeInvalidReview = "invalid_review"
	CodeInvalidEngine = "invalid_engine"
	CodeTooManyPods   = "too_many_pods"

	// CodeOverloaded: too many requests at once, worth a retry after Retry-After. CodeShuttingDown: the service ends.
	CodeOverloaded   = "overloaded"
	CodeShuttingDown = "shutting_down"

	// CodeEvaluationDeadline and those below: the policy gave no answer. A retry gives none either.
	CodeEvaluationDeadline = "evaluation_deadline"
	CodeEvaluationBudget   = "evaluation_budget"
	CodeEvaluationMemory   = "evaluation_memory"
	CodeEvaluationStack    = "evaluation_stack"
	CodeEvaluationConflict = "evaluation_conflict"
	CodeEvaluationBuiltin  = "evaluation_builtin"
	CodeEvaluationTrap     = "evaluation_trap"
	CodeUndefined          = "undefined"

	// Those of KV registration. CodeProtocol: another major version of the protocol. CodeInvalidReport: a report, probe or
	// core report that contradicts itself. CodeAttemptGone: the attempt is not known, or has another id; report again.
	CodeProtocol      = "protocol"
	CodeInvalidReport = "invalid_report"
	CodeAttemptGone   = "attempt_gone"
	// CodeNoSharedRendezvous: the engine spans nodes, and this service can be reached from one only.
	CodeNoSharedRendezvous = "no_shared_rendezvous"
	// CodeUnknownEngine: no attempt of that engine is remembered.
	CodeUnknownEngine = "unknown_engine"
	// CodeStore: the state could not be written or read in time; worth a retry.
	CodeStore = "store"
	// The ends of an attempt that are no admission have the codes revoked, superseded, duplicate_rank and timed_out.

	CodeInternal = "internal"
)
