package topology

// Facts is the document that policies see as input. It is sized by groups and memory domains, not by workers. A fact that
// is not known is absent, never zero; pointers and omitted lists carry that.
type Facts struct {
	// Now is RFC 3339 in UTC, truncated to the minute.
	Now string `json:"now"`
	// Stage is launch or registration. At registration all ranks are those of one replica, numbered from 0, while
	// engine.parallel.data still counts all replicas.
	Stage     string       `json:"stage"`
	Engine    EngineFacts  `json:"engine"`
	Transfer  *Transferred `json:"transfer,omitempty"`
	Placement Placed       `json:"placement"`
	// Groups is absent where the sizes of the grid are unknown or the placement has no source. A rank without a node then
	// leaves its own groups open.
	Groups *Groups `json:"groups,omitempty"`
	// Ranks is absent where no worker was declared or the sizes of the grid are unknown.
	Ranks *Ranks `json:"ranks,omitempty"`
	// Domains are the memory domains of the launch; absent where no node is known.
	Domains  []Domain  `json:"domains,omitempty"`
	Replicas *Replicas `json:"replicas,omitempty"`
	Core     *CoreFact `json:"core,omitempty"`
	// Versions groups the ranks by the engine version they reported; absent where no worker reported one.
	Versions []VersionGroup `json:"versions,omitempty"`
	// Configurations groups the ranks by canonical configuration; absent where no worker reported one.
	Configurations []ConfigurationGroup `json:"configurations,omitempty"`
	// Workers is present only for policies that declare a need for input.workers.
	Workers []WorkerFact `json:"workers,omitempty"`
}

// EngineFacts is the resolved configuration. A size that is not known yet is absent.
type EngineFacts struct {
	// ID is engine.id of the launch.
	ID string `json:"id,omitempty"`
	// Version is the engine's version as the launch gives it, e.g. 0.33.0.
	Version  string        `json:"version,omitempty"`
	Parallel ParallelFacts `json:"parallel"`
	// Executor is mp, ray, external_launcher, uni or a class path.
	Executor string `json:"executor,omitempty"`
	// ExecutorGiven is false where Executor is vLLM's default for this launch.
	ExecutorGiven bool `json:"executor_given"`
	// Nnodes is --nnodes: over how many nodes one replica is spread by mp.
	Nnodes *int64 `json:"nnodes,omitempty"`
	// NodeRank is --node-rank: which of these nodes the command is for.
	NodeRank *int64 `json:"node_rank,omitempty"`
	// Headless is true for a command that serves no API.
	Headless bool `json:"headless"`
	// DataBackend is --data-parallel-backend: mp or ray.
	DataBackend string `json:"data_backend"`
	// DataRank is --data-parallel-rank.
	DataRank *int64 `json:"data_rank,omitempty"`
	// DataStartRank is --data-parallel-start-rank.
	DataStartRank *int64 `json:"data_start_rank,omitempty"`
	// ExternalLB is true where something else balances load over the replicas.
	ExternalLB bool `json:"external_lb"`
	// HybridLB is true where load is balanced within each node only.
	HybridLB bool `json:"hybrid_lb"`
	// WorldSize is PP*PCP*TP: the ranks of one replica. Absent where a size is unknown or below 1.
	WorldSize *int64 `json:"world_size,omitempty"`
	// Refusals are settings that vLLM would refuse.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Unresolved are settings that cannot be known before the start, with the reason.
	Unresolved []Unresolved `json:"unresolved,omitempty"`
}

// ParallelFacts holds the sizes of the grid.
type ParallelFacts struct {
	// Tensor is --tensor-parallel-size.
	Tensor *int64 `json:"tensor,omitempty"`
	// Pipeline is --pipeline-parallel-size.
	Pipeline *int64 `json:"pipeline,omitempty"`
	// PrefillContext is --prefill-context-parallel-size.
	PrefillContext *int64 `json:"prefill_context,omitempty"`
	// DecodeContext is --decode-context-parallel-size.
	DecodeContext *int64 `json:"decode_context,omitempty"`
	// Data is --data-parallel-size: how many replicas there are.
	Data *int64 `json:"data,omitempty"`
	// DataLocal is --data-parallel-size-local: how many replicas this node has.
	DataLocal *int64 `json:"data_local,omitempty"`
}

// Transferred is the KV transfer configuration; absent from the facts where it cannot be known before the start.
type Transferred struct {
	// Given is true where the launch configures a KV transfer.
	Given bool `json:"given"`
	// Tiered is true where any connector has secondary tiers.
	Tiered bool `json:"tiered"`
	// Connectors are the KV connectors, the children of a MultiConnector after it.
	Connectors []Connector `json:"connectors,omitempty"`
}

// Placed says whether, and from what, the node of every rank is known.
type Placed struct {
	// Known is true when every rank of the grid has a node.
	Known bool `json:"known"`
	// Source is workers, mp_blocks, data_parallel_size_local, one_host or none.
	Source string `json:"source"`
	// Assumed says in sentences what was taken for granted.
	Assumed []string `json:"assumed,omitempty"`
	// Missing names the facts without which a rank has no node.
	Missing []string `json:"missing,omitempty"`
}

// Groups holds the lines of the grid by kind. TP, PP and PCP are always there; DCP, DP and EP only for policies that
// declare a need for them. At registration DP and EP are absent where there are other replicas.
type Groups struct {
	TP  *GroupKind `json:"tp,omitempty"`
	PP  *GroupKind `json:"pp,omitempty"`
	PCP *GroupKind `json:"pcp,omitempty"`
	DCP *GroupKind `json:"dcp,omitempty"`
	DP  *GroupKind `json:"dp,omitempty"`
	EP  *GroupKind `json:"ep,omitempty"`
}

// GroupKind counts the groups of one kind and lists those that are not proven to live in one memory domain.
type GroupKind struct {
	// Size is the number of ranks of each group.
	Size int64 `json:"size"`
	// Count is the number of groups.
	Count int64 `json:"count"`
	// Local counts the groups whose ranks share one memory domain.
	Local int64 `json:"local"`
	// Spanning are the groups over several memory domains.
	Spanning []GroupFacts `json:"spanning"`
	// Open are the groups of which some rank's memory domain is not known.
	Open []GroupFacts `json:"open"`
}

// GroupFacts is one group that spans memory domains, or whose domains are not all known.
type GroupFacts struct {
	// Ranks are the global ranks of the group.
	Ranks []int64 `json:"ranks"`
	// Replica is that of the first rank; DP and EP groups have ranks in every replica.
	Replica int64 `json:"replica"`
	// Nodes are the node ids of its ranks, each once, in rank order.
	Nodes []string `json:"nodes"`
	// Placed is Ranks by node for people, e.g. "rank 0 on gpu-a, ranks 1-3 on gpu-b".
	Placed string `json:"placed"`
	// Missing names the absent facts of an open group, e.g. "boot_id of node gpu-b".
	Missing []string `json:"missing,omitempty"`
}

// Ranks lists what is wrong with the declared workers; all empty when they are exactly the grid.
type Ranks struct {
	// World is the number of ranks over all replicas, at registration of the one replica.
	World int64 `json:"world"`
	// Missing are the ranks of the grid that no worker claims.
	Missing []int64 `json:"missing"`
	// Duplicate are the ranks that several workers claim.
	Duplicate []DuplicateRank `json:"duplicate"`
	// OutOfRange are declared ranks that are not in the grid.
	OutOfRange []int64 `json:"out_of_range"`
	// OffGrid are declared memberships that are not the rank's line of the grid.
	// The first 16 in order of rank and kind are listed, OffGridMore counts the rest.
	OffGrid []OffGrid `json:"off_grid"`
	// OffGridMore counts the memberships that OffGrid leaves out.
	OffGridMore int64 `json:"off_grid_more"`
}

// DuplicateRank is a rank that more than one worker claims.
type DuplicateRank struct {
	// Rank is the global rank.
	Rank int64 `json:"rank"`
	// Nodes are those of the workers that claim it.
	Nodes []string `json:"nodes"`
}

// OffGrid is a declared group that does not fit the grid. Kind may be one that vLLM does not know.
type OffGrid struct {
	// Rank is the worker's global rank.
	Rank int64 `json:"rank"`
	// Node is the worker's node.
	Node string `json:"node"`
	// Kind is the kind of group: tp, pp, pcp, dcp, dp or ep.
	Kind string `json:"kind"`
	// Declared are the ranks that the worker says are in the group.
	Declared []int64 `json:"declared"`
	// Expected is the line of the grid; empty for an unknown kind.
	Expected []int64 `json:"expected"`
}

// Domain is a set of nodes that share one /dev/shm, with the smallest numbers seen on them and what the launch needs there.
type Domain struct {
	// Nodes are ids, for people.
	Nodes []string `json:"nodes"`
	// Ranks is the number of ranks placed here, over all replicas; absent where the placement has no source.
	Ranks *int64 `json:"ranks,omitempty"`
	// Replicas are the replicas with a rank here.
	Replicas []int64 `json:"replicas,omitempty"`
	// The smallest value seen on the domain's nodes, bytes.
	ShmTotalBytes *int64 `json:"shm_total_bytes,omitempty"`
	// ShmFreeBytes is what is free in /dev/shm, the smallest value seen on the domain's nodes.
	ShmFreeBytes *int64 `json:"shm_free_bytes,omitempty"`
	// MemoryLimitBytes is the containers' memory limit, the smallest value seen on the domain's nodes.
	MemoryLimitBytes *int64 `json:"memory_limit_bytes,omitempty"`
	// RegionBytes is what the region files of all replicas here take in /dev/shm; absent without a native offload and where
	// the placement has no source.
	RegionBytes *int64 `json:"region_bytes,omitempty"`
	// ResidentBytes is the part that is populated: all of a region where its engine core runs, else the slots of the ranks
	// here.
	ResidentBytes *int64 `json:"resident_bytes,omitempty"`
	// StaleRegions are leftover region files, each once per domain; absent where no node reported on them.
	StaleRegions *Stale `json:"stale_regions,omitempty"`
}

// Stale sums up leftover region files.
type Stale struct {
	// Count is the number of files.
	Count int64 `json:"count"`
	// Bytes is what removing them frees.
	Bytes int64 `json:"bytes"`
	// Names holds the first eight.
	Names []string `json:"names"`
}

// Replicas counts the data-parallel replicas and lists those whose ranks live in more than one memory domain.
type Replicas struct {
	// Count is the number of replicas.
	Count int64 `json:"count"`
	// Spanning are the replicas over several memory domains.
	Spanning []SpanningReplica `json:"spanning"`
}

// SpanningReplica is a replica over several memory domains.
type SpanningReplica struct {
	// Replica counts from 0.
	Replica int64 `json:"replica"`
	// Nodes are the node ids of its ranks.
	Nodes []string `json:"nodes"`
	// Domains is their number, LargestShare the most ranks of the replica in one of them. Nodes whose relation is unknown
	// count as domains of their own.
	Domains int64 `json:"domains"`
	// LargestShare is the most ranks of the replica in one domain.
	LargestShare int64 `json:"largest_share"`
}

// CoreFact compares each replica's engine core with the replica's first rank.
type CoreFact struct {
	// Given is true when the launch says where the core runs.
	Given bool `json:"given"`
	// Local counts the replicas whose core shares memory with their first rank.
	Local int64 `json:"local"`
	// Remote are the cores that do not share memory with their replica's first rank.
	Remote []CoreReplica `json:"remote"`
	// Open are the cores of which that is not known.
	Open []CoreReplica `json:"open"`
}

// CoreReplica is a core that is elsewhere, or not known to be near.
type CoreReplica struct {
	// Replica counts from 0.
	Replica int64 `json:"replica"`
	// FirstRank is the replica's first global rank.
	FirstRank int64 `json:"first_rank"`
	// CoreNode is the node of the core.
	CoreNode string `json:"core_node,omitempty"`
	// RankNode is the node of the first rank.
	RankNode string `json:"rank_node,omitempty"`
	// Missing names the facts that are absent.
	Missing []string `json:"missing,omitempty"`
}

// VersionGroup is the ranks that run one engine version.
type VersionGroup struct {
	// Version is as the workers reported it.
	Version string `json:"version"`
	// Ranks is for people: "ranks 0-3, 8".
	Ranks string `json:"ranks"`
	// Nodes are the node ids of its ranks.
	Nodes []string `json:"nodes"`
}

// ConfigurationGroup is the ranks that run one canonical configuration; Differs names the fields in which it differs from
// the first group's, each as "field: this value, not that value".
type ConfigurationGroup struct {
	// Ranks is for people: "ranks 0-3, 8".
	Ranks string `json:"ranks"`
	// Nodes are the node ids of its ranks.
	Nodes []string `json:"nodes"`
	// Differs is empty for the first group.
	Differs []string `json:"differs"`
}

// WorkerFact is one declared worker.
type WorkerFact struct {
	// Rank is the global rank, at registration the one within the replica.
	Rank int64 `json:"rank"`
	// Node is the node id.
	Node string `json:"node"`
	// Domain is the index of its memory domain in input.domains.
	Domain int64 `json:"domain"`
	// Version is the engine version that it reported.
	Version string `json:"version,omitempty"`
}
