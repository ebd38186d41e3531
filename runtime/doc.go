// Package runtime is the gate inside a starting engine: each worker calls RegisterKV before it allocates its KV region,
// and the engine core calls AdmitCore before it opens the region or a tier. It owns the steps that a rank takes, its
// deadline and what it believes of the service's answers; it must not judge, and whatever it does not understand is an
// error, never an allow.
//
// All ranks take the same steps in the same order whatever happens locally, because a rank that skips one leaves the
// others waiting: vLLM's own check hangs for 30 minutes when one rank cannot make its segment (vllm 52907). What fails
// on one rank is data in its report or in its answers.
//
// It imports the standard library, golang.org/x/sys and api/v1 only, so that any engine can embed it.
package runtime
