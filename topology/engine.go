package topology

import "encoding/json"

// Engine is the configuration that vLLM would run with, resolved from a command, from fields, or from both. Sizes are as
// given, also when vLLM would refuse them: refusing is a check's answer.
type Engine struct {
	ID      string
	Version string

	Tensor         int64
	Pipeline       int64
	PrefillContext int64
	DecodeContext  int64
	Data           int64
	// DataLocal, DataRank and DataStartRank are nil where they were not given.
	DataLocal     *int64
	DataRank      *int64
	DataStartRank *int64
	// DataBackend is mp or ray; empty means mp.
	DataBackend string
	ExternalLB  bool
	HybridLB    bool

	// Executor is mp, ray, external_launcher, uni, or a class path; ExecutorGiven tells a choice from vLLM's default.
	Executor      string
	ExecutorGiven bool
	Nnodes        int64
	NodeRank      int64
	Headless      bool

	Transfer Transfer

	// Unresolved names settings whose value cannot be known before the engine starts, e.g. parallel.tensor from an unset
	// variable. What depends on them is unknown.
	Unresolved []Unresolved
	// Refusals are values that vLLM itself would not accept.
	Refusals []Refusal
}

// Transfer is the effective KV transfer configuration: what --kv-transfer-config and --kv-offloading-size make together.
type Transfer struct {
	// Given is false when no transfer is configured at all.
	Given bool
	// Connectors are the top-level connector and, behind a MultiConnector, its children, in document order.
	Connectors []Connector
}

// Connector is one KV connector. Config is its configuration as vLLM would see it, with keys sorted and the values of
// credentials masked; it is passed to the policies verbatim.
type Connector struct {
	// Path says where it stands, e.g. kv_transfer.kv_connector_extra_config.connectors[1].
	Path string `json:"path"`
	// Name is the connector's class, e.g. OffloadingConnector.
	Name string `json:"name"`
	// Spec is the offloading spec of an OffloadingConnector, with vLLM's default filled in; else empty.
	Spec string `json:"spec"`
	// Native tells vLLM's own offloading specs, whose keys are known, from ones loaded by module path.
	Native bool `json:"native"`
	// Tiered is true where secondary_tiers is anything but absent, null or an empty list, whatever the spec.
	Tiered bool `json:"tiered"`
	// CPUBytes is cpu_bytes_to_use where it is a positive number, else 0. Bytes, total over the workers of a replica.
	CPUBytes int64 `json:"cpu_bytes"`
	// Config is the configuration with keys sorted and the values of credentials masked.
	Config json.RawMessage `json:"config"`
}

// Unresolved is a setting that only the running engine will know.
type Unresolved struct {
	// Setting is the field's path in a launch document, e.g. engine.parallel.tensor or engine.kv_transfer.
	Setting string `json:"setting"`
	// Reason says why, e.g. "$TP is not set in the container's env".
	Reason string `json:"reason"`
}

// Refusal is a value that vLLM refuses at start, attributed to the check that reports it.
type Refusal struct {
	// Check is parallel.config, offload.config or tiering.config.
	Check string `json:"check"`
	// Setting is the flag or key as the user wrote it.
	Setting string `json:"setting"`
	// Value is what was given.
	Value string `json:"value"`
	// Reason is vLLM's, in one clause.
	Reason string `json:"reason"`
	// Fix says what to write instead.
	Fix string `json:"fix"`
}
