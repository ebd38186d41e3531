package kube

import (
	"fmt"
	"strconv"
)

// leaderWorkerSet is the part of leaderworkerset.x-k8s.io/v1 that decides which pods work together.
type leaderWorkerSet struct {
	Spec struct {
		LeaderWorkerTemplate struct {
			Size           *int64       `json:"size"`
			LeaderTemplate *podTemplate `json:"leaderTemplate"`
			WorkerTemplate podTemplate  `json:"workerTemplate"`
		} `json:"leaderWorkerTemplate"`
	} `json:"spec"`
}

// leaderWorkerSet reads the first group of the set; its replicas are groups like it.
func (r *reader) leaderWorkerSet(o *object) error {
	var set leaderWorkerSet
	if err := o.text.Extract(&set); err != nil {
		return unreadable(o.name(), err)
	}
	spec := &set.Spec.LeaderWorkerTemplate
	size := int64(1)
	if spec.Size != nil {
		size = *spec.Size
	}
	leader := spec.LeaderTemplate
	if leader == nil {
		leader = &spec.WorkerTemplate
	}
	return r.group(leaderGroup(o, o.Metadata.name(), leader, &spec.WorkerTemplate, size))
}

// leaderGroup is the pods of one group: the leader and size-1 workers.
func leaderGroup(o *object, name string, leader, worker *podTemplate, size int64) *group {
	size = max(size, 1)
	runs := []run{{leader, 1}, {worker, min(size-1, maxPods)}}
	g := newGroup(name, runs, func(run int, _, index int64) *pod {
		return groupPod(runs[run].template, name, o.Metadata.Namespace, size, index)
	})
	g.together = true
	return g
}

// groupPod names a pod of the first group and gives it the variables that the controller puts in front of the others.
func groupPod(template *podTemplate, set, namespace string, size, index int64) *pod {
	leader := set + "-0"
	name, number := leader, strconv.FormatInt(index, 10)
	if index > 0 {
		name = leader + "-" + number
	}
	// The address is a name in the set's headless service, which resolves without its namespace too.
	address := leader + "." + set
	if namespace != "" {
		address += "." + namespace
	}
	return &pod{
		podTemplate: template, id: name, name: name, namespace: namespace,
		labels: map[string]string{
			"leaderworkerset.sigs.k8s.io/name":         set,
			"leaderworkerset.sigs.k8s.io/group-index":  "0",
			"leaderworkerset.sigs.k8s.io/worker-index": number,
			"leaderworkerset.sigs.k8s.io/size":         fmt.Sprint(size),
		},
		injected: []envVar{
			{Name: "LWS_LEADER_ADDRESS", Value: address},
			{Name: "LWS_GROUP_SIZE", Value: fmt.Sprint(size)},
			{Name: "LWS_WORKER_INDEX", Value: number},
		},
	}
}
