package kube

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/tiergate/tiergate/topology/vllm"
)

// rayObject is a RayCluster, or a RayJob or RayService with the cluster that it makes.
type rayObject struct {
	Spec struct {
		rayCluster
		// Entrypoint is a RayJob's command, which its submitter runs on the cluster with RuntimeEnv.
		Entrypoint    string     `json:"entrypoint"`
		RuntimeEnv    string     `json:"runtimeEnvYAML"`
		OfJob         rayCluster `json:"rayClusterSpec"`
		OfService     rayCluster `json:"rayClusterConfig"`
		ServeConfigV2 string     `json:"serveConfigV2"`
	} `json:"spec"`
}

type rayCluster struct {
	Head    rayGroup   `json:"headGroupSpec"`
	Workers []rayGroup `json:"workerGroupSpecs"`
}

type rayGroup struct {
	Name           string            `json:"groupName"`
	Replicas       *int64            `json:"replicas"`
	MinReplicas    *int64            `json:"minReplicas"`
	NumOfHosts     *int64            `json:"numOfHosts"`
	RayStartParams map[string]string `json:"rayStartParams"`
	Template       podTemplate       `json:"template"`
}

// pods is how many the group starts with; the autoscaler may change it later.
func (g *rayGroup) pods() int64 {
	replicas, hosts := int64(1), int64(1)
	switch {
	case g.Replicas != nil:
		replicas = *g.Replicas
	case g.MinReplicas != nil:
		replicas = *g.MinReplicas
	}
	if g.NumOfHosts != nil {
		hosts = *g.NumOfHosts
	}
	return min(max(replicas, 0), maxPods) * min(max(hosts, 1), maxPods)
}

// ray reads the engines that a Ray cluster runs: those of Serve applications, of a job's entrypoint, and of its
// containers. Which pod gets which rank is Ray's decision, so that all pods of the cluster are listed.
func (r *reader) ray(o *object) error {
	var ray rayObject
	if err := o.text.Extract(&ray); err != nil {
		return unreadable(o.name(), err)
	}
	cluster := &ray.Spec.rayCluster
	switch o.Kind {
	case "RayJob":
		cluster = &ray.Spec.OfJob
	case "RayService":
		cluster = &ray.Spec.OfService
	}
	g := cluster.group(o)
	if err := r.serveApplications(g, ray.Spec.ServeConfigV2); err != nil {
		return err
	}
	if ray.Spec.Entrypoint != "" {
		env, err := runtimeEnv(ray.Spec.RuntimeEnv)
		if err != nil {
			return r.fail(CodeInvalidEngine, err, "runtimeEnvYAML: %v", err)
		}
		if err := r.onCluster(g, 0, "entrypoint", []string{"sh", "-c", ray.Spec.Entrypoint}, env); err != nil {
			return err
		}
	}
	return r.group(g)
}

// group is the pods of a cluster: the head, then those of each worker group.
func (c *rayCluster) group(o *object) *group {
	c.idleHead()
	names := []string{o.Metadata.name() + "-head"}
	runs := []run{{&c.Head.Template, 1}}
	used := map[string]bool{}
	for i := range c.Workers {
		workers := &c.Workers[i]
		name := o.Metadata.name() + "-" + cmp.Or(workers.Name, "workers")
		if used[name] {
			name += "-" + strconv.Itoa(i)
		}
		used[name] = true
		names, runs = append(names, name), append(runs, run{&workers.Template, workers.pods()})
	}
	dress := func(run int, within, _ int64) *pod {
		p := &pod{podTemplate: runs[run].template, id: names[run], namespace: o.Metadata.Namespace, ray: true}
		if run > 0 {
			p.id += "-" + strconv.FormatInt(within, 10)
		}
		return p
	}
	g := newGroup(o.Metadata.name(), runs, dress)
	g.together = true
	return g
}

// idleHead gives a head its number of GPUs where it has none: Ray schedules by num-gpus, and a head that asks for none
// beside workers that do has none.
func (c *rayCluster) idleHead() {
	working := false
	for i := range c.Workers {
		for _, worker := range c.Workers[i].Template.Spec.running() {
			working = working || worker.Resources.accelerators() != nil
		}
	}
	if !working && c.Head.RayStartParams["num-gpus"] != "0" {
		return
	}
	for _, head := range c.Head.Template.Spec.running() {
		if head.Resources.accelerators() == nil {
			limits := map[string]quantity{"nvidia.com/gpu": 0}
			for name, limit := range head.Resources.Limits {
				limits[name] = limit
			}
			head.Resources.Limits = limits
		}
	}
}

// onCluster reads a command that runs in the first pod of a run, in the environment of what that pod is for.
func (r *reader) onCluster(g *group, run int, where string, command []string, env []envVar) error {
	index := int64(0)
	for _, before := range g.runs[:run] {
		index += before.count
	}
	at := g.dress(run, 0, index)
	c := *at.Spec.working()
	c.Command, c.Args, c.Env = command, nil, slices.Concat(c.Env, env)
	found, err := r.start(&c, at)
	switch {
	case errors.Is(err, vllm.ErrNoEngine):
		r.look(&c, where)
		return nil
	case err != nil:
		return r.fail(CodeInvalidEngine, err, "%s: %v", where, err)
	}
	found.where = where
	_, err = r.add(g, found, at, index)
	return err
}
