package kube

import (
	"fmt"
	"strconv"
)

// workload is the shape that the controllers of apps/v1 and batch/v1 share, and many others with them.
type workload struct {
	Metadata metadata     `json:"metadata"`
	Spec     workloadSpec `json:"spec"`
}

type workloadSpec struct {
	Replicas       *int64      `json:"replicas"`
	Completions    *int64      `json:"completions"`
	Parallelism    *int64      `json:"parallelism"`
	CompletionMode string      `json:"completionMode"`
	Template       podTemplate `json:"template"`
	JobTemplate    struct {
		Spec *workloadSpec `json:"spec"`
	} `json:"jobTemplate"`
}

// workloadKinds are read strictly. Other kinds are read as far as they have this shape.
var workloadKinds = map[string]bool{
	"Deployment": true, "StatefulSet": true, "ReplicaSet": true, "ReplicationController": true, "DaemonSet": true,
	"Job": true, "CronJob": true,
}

// workload reads a controller whose pods are replicas of one template. Each is an engine of its own, unless the engine
// says that it takes several: then these are the first replicas.
func (r *reader) workload(o *object) error {
	var w workload
	if err := o.text.Extract(&w); err != nil {
		if workloadKinds[o.Kind] {
			return unreadable(o.name(), err)
		}
		return nil
	}
	spec := &w.Spec
	if spec.JobTemplate.Spec != nil {
		spec = spec.JobTemplate.Spec
	}
	dress := func(_ int, _, index int64) *pod { return spec.pod(o, index) }
	return r.group(newGroup(o.Metadata.name(), []run{{&spec.Template, spec.pods()}}, dress))
}

// pods is how many run at a time, at least one: an object that is scaled to zero still says what it would start.
func (s *workloadSpec) pods() int64 {
	count := int64(1)
	switch {
	case s.Replicas != nil:
		count = *s.Replicas
	case s.Parallelism != nil:
		count = *s.Parallelism
		if s.Completions != nil {
			count = min(count, *s.Completions)
		}
	}
	return min(max(count, 1), maxPods)
}

// pod adds what StatefulSets and indexed Jobs tell their pods about themselves.
func (s *workloadSpec) pod(o *object, index int64) *pod {
	name, number := fmt.Sprintf("%s-%d", o.Metadata.name(), index), strconv.FormatInt(index, 10)
	p := &pod{podTemplate: &s.Template, id: name, namespace: o.Metadata.Namespace}
	switch {
	case o.Kind == "StatefulSet":
		p.name = name
		p.labels = map[string]string{"apps.kubernetes.io/pod-index": number, "statefulset.kubernetes.io/pod-name": name}
	case s.CompletionMode == "Indexed":
		p.labels = map[string]string{"batch.kubernetes.io/job-completion-index": number}
		p.injected = []envVar{{Name: "JOB_COMPLETION_INDEX", Value: number}}
	}
	return p
}

// barePod reads a pod that no controller makes.
func (r *reader) barePod(o *object) error {
	var template podTemplate
	if err := o.text.Extract(&template); err != nil {
		return unreadable(o.name(), err)
	}
	dress := func(int, int64, int64) *pod {
		return &pod{podTemplate: &template, id: o.Metadata.name(), name: o.Metadata.Name, namespace: o.Metadata.Namespace}
	}
	return r.group(newGroup(o.Metadata.name(), []run{{&template, 1}}, dress))
}
