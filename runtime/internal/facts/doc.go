// Package facts finds out where this process runs: which kernel, which /dev/shm and what is in it, which memory limit,
// and the names that people know the place by. It owns reading and must not judge, change anything, wait for a server,
// or fail: what could not be read is absent and says why.
package facts

import (
	"errors"
	"fmt"
	"syscall"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Collect returns the facts of this process; the environment, a list of NAME=value, gives the names of node and pod. It
// takes less than a millisecond, or some tens with thousands of files in /dev/shm.
func Collect(env []string) v1.NodeFacts {
	return Collector{Proc: "/proc", Shm: "/dev/shm", Env: env}.Collect()
}

// Collector says where facts are read. Where cgroups and other filesystems are is read from Proc/self/mountinfo.
type Collector struct {
	Proc string
	Shm  string
	Env  []string
}

// Collect reads all facts.
func (c Collector) Collect() v1.NodeFacts {
	r := reading{Collector: c}
	r.names()
	r.process()
	mounts := r.mounts()
	r.sharedMemory(mounts)
	r.memory(mounts)
	return r.facts
}

// reading is one collection under way.
type reading struct {
	Collector
	facts v1.NodeFacts
}

// absent notes why facts could not be read, with the name of the errno that a wrapped error carries.
func (r *reading) absent(err error, facts ...string) {
	reason := err.Error()
	var errno syscall.Errno
	if errors.As(err, &errno) && errnoName(errno) != "" {
		reason = fmt.Sprintf("%s (%s)", reason, errnoName(errno))
	}
	for _, fact := range facts {
		r.facts.Absent = append(r.facts.Absent, v1.AbsentFact{Fact: fact, Reason: reason})
	}
}
