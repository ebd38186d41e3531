// Package probe proves that two processes see one /dev/shm: one makes a small file with a random nonce there, the other
// opens it by name and reads the nonce. It owns that file from its making to its removal; it must not know groups,
// ranks or the service, and it never touches a file of anybody else.
//
// Whatever fails is a *v1.LocalFail, which is data for the service and for an operator. vLLM's in_the_same_node_as
// takes every failure for "another node", and hangs all ranks if the one that makes the segment cannot (vllm 52907).
package probe

// Shm is where POSIX shared memory lives: shm_open("/x") is open("/dev/shm/x").
const Shm = "/dev/shm"

// Prefix begins the names of all segments; 32 hex digits follow.
const Prefix = "tiergate-probe-"

// Words that stand where no call failed and an errno would be.
const (
	// NotTmpfs: a region there would be a file on a disk or in an image, which no other container sees.
	NotTmpfs = "not_tmpfs"
	// NotSegment: what has the name is no complete segment.
	NotSegment = "not_a_segment"
	// InvalidName: the name is not one that Make gives.
	InvalidName = "invalid_name"
	// NoSegment: the leader has none.
	NoSegment = "no_segment"
	// NoProc: a file without a name can be given one only through /proc.
	NoProc = "no_proc"
)
