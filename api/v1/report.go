package v1

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Protocol is the version of the exchange at KV registration, major.minor. A service ignores and lists fields of a newer
// minor and refuses another major.
const Protocol = "1.0"

// Report is what one worker says of itself at KV registration. Ranks are those within the replica, 0 to WorldSize-1.
type Report struct {
	Protocol string `json:"protocol"`
	// Incarnation is 32 hex digits, random for each registration of a process. A report with the same one is a repeat.
	Incarnation string `json:"incarnation"`
	// WorldSize is PP*PCP*TP: the ranks of the replica.
	WorldSize        int64 `json:"world_size"`
	DataParallelRank int64 `json:"data_parallel_rank,omitempty"`
	// Groups are the memberships of this rank by kind (tp, pp, pcp and others), each in group order.
	Groups        map[string][]int64 `json:"groups,omitempty"`
	Configuration Configuration      `json:"configuration"`
	Facts         NodeFacts          `json:"facts"`
	// Segment is there if this rank is the first of a TP, PP or PCP group of more than one rank.
	Segment *Segment `json:"segment,omitempty"`
	// DeadlineMS is how long this worker can wait for the whole registration. Milliseconds.
	DeadlineMS int64 `json:"deadline_ms"`
}

// Segment is the probe segment that a rank made in its /dev/shm, or why it could not.
type Segment struct {
	Name string `json:"name,omitempty"`
	// SHA256 is that of the nonce in the segment, in hex. The nonce itself is told by those who read it only.
	SHA256 string     `json:"sha256,omitempty"`
	Error  *LocalFail `json:"error,omitempty"`
}

// LocalFail is what failed on one rank, as data: nobody waits for a rank because of it.
type LocalFail struct {
	// Errno is the symbolic name, such as ENOSPC, or a word of ours such as not_tmpfs.
	Errno string `json:"errno"`
	// Detail says what was tried and seen, for an operator.
	Detail string `json:"detail"`
}

// NodeFacts are what a process found out about where it runs. Only BootID together with Shm.Device decides; all else is for
// checks of capacity and for people. A fact that could not be read is absent and listed in Absent.
type NodeFacts struct {
	// Node is the name for people: the Kubernetes node, else the host name; Pod is the pod's.
	Node      string `json:"node,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	PodUID    string `json:"pod_uid,omitempty"`
	Hostname  string `json:"hostname,omitempty"`

	BootID string       `json:"boot_id,omitempty"`
	Shm    *ShmFacts    `json:"shm,omitempty"`
	Memory *MemoryFacts `json:"memory,omitempty"`

	PID int64  `json:"pid,omitempty"`
	UID *int64 `json:"uid,omitempty"`
	GID *int64 `json:"gid,omitempty"`
	// Namespaces are the inode numbers of the process's namespaces by kind (mnt, ipc, pid, net, user, uts). They are equal
	// across hosts and prove nothing.
	Namespaces map[string]string `json:"namespaces,omitempty"`
	Absent     []AbsentFact      `json:"absent,omitempty"`
}

// ShmFacts describe what is mounted at /dev/shm. Sizes are bytes.
type ShmFacts struct {
	// Device is major:minor. It is a small number that repeats on other hosts.
	Device string `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
	// Filesystem is tmpfs where a region can be shared; Source is the mount's source as in mountinfo.
	Filesystem  string `json:"filesystem,omitempty"`
	Source      string `json:"source,omitempty"`
	ReadOnly    bool   `json:"read_only,omitempty"`
	TotalBytes  *int64 `json:"total_bytes,omitempty"`
	FreeBytes   *int64 `json:"free_bytes,omitempty"`
	TotalInodes *int64 `json:"total_inodes,omitempty"`
	FreeInodes  *int64 `json:"free_inodes,omitempty"`
	// StaleRegions are vllm_offload_* files; nil where nobody looked.
	StaleRegions []StaleRegion `json:"stale_regions,omitzero"`
	// Foreign counts segments of others (nccl-*, psm_*, torch_* and the like) with their bytes.
	Foreign *ForeignSegments `json:"foreign,omitempty"`
}

// ForeignSegments are files in /dev/shm that are neither regions nor probes of ours.
type ForeignSegments struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

// MemoryFacts are the limit and usage of the memory cgroup that tmpfs pages are charged to, in bytes. Without a limit,
// LimitBytes is absent.
type MemoryFacts struct {
	LimitBytes *int64 `json:"limit_bytes,omitempty"`
	UsageBytes *int64 `json:"usage_bytes,omitempty"`
}

// AbsentFact is a fact that could not be read, by its path in NodeFacts, and why.
type AbsentFact struct {
	Fact   string `json:"fact"`
	Reason string `json:"reason"`
}

// Digest is over the fields that this protocol version knows, so that a rank can tell that what was judged is what it
// runs with.
func (c *Configuration) Digest() (string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
