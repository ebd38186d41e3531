package kube

// inferenceService is the part of serving.kserve.io's LLMInferenceService that decides how its engines start.
type inferenceService struct {
	Spec struct {
		llmWorkload
		Prefill *llmWorkload `json:"prefill"`
	} `json:"spec"`
}

// llmWorkload is one engine. With a worker it runs on several pods, which a LeaderWorkerSet then makes.
type llmWorkload struct {
	Parallelism *parallelism      `json:"parallelism"`
	Template    *podSpec          `json:"template"`
	Worker      *podSpec          `json:"worker"`
	Offloading  *kvOffloading     `json:"kvCacheOffloading"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

type parallelism struct {
	Tensor    *int64 `json:"tensor"`
	Pipeline  *int64 `json:"pipeline"`
	Data      *int64 `json:"data"`
	DataLocal *int64 `json:"dataLocal"`
	Expert    bool   `json:"expert"`
}

// kvOffloading asks for vLLM's native offloading.
type kvOffloading struct {
	CPU            quantity `json:"cpu"`
	EvictionPolicy string   `json:"evictionPolicy"`
	Secondary      []struct {
		FileSystem *struct{} `json:"fileSystem"`
	} `json:"secondary"`
}

// inferenceService reads the engine of the service and, where prefill is apart, that of prefill.
//
// KServe completes the pods from presets of its installation, which are not in the manifest: a container "main" without
// a command runs vllm serve with the parallelism of the service, what kvCacheOffloading stands for,
// $VLLM_ADDITIONAL_ARGS and the container's own args. That is assumed here. The size of the presets' /dev/shm differs
// between versions and stays unknown, unless the template has a volume dshm, which replaces the preset's. (kserve PRs
// 5599 and 5740.)
func (r *reader) inferenceService(o *object) error {
	var service inferenceService
	if err := o.text.Extract(&service); err != nil {
		return unreadable(o.name(), err)
	}
	if err := r.llmWorkload(o, o.Metadata.name(), &service.Spec.llmWorkload); err != nil {
		return err
	}
	if service.Spec.Prefill == nil {
		return nil
	}
	r.object += ", prefill"
	return r.llmWorkload(o, o.Metadata.name()+"-prefill", service.Spec.Prefill)
}

func (r *reader) llmWorkload(o *object, name string, w *llmWorkload) error {
	meta := metadata{Labels: w.Labels, Annotations: w.Annotations}
	leader, size := &podTemplate{Metadata: meta}, int64(1)
	if w.Template != nil {
		leader.Spec = *w.Template
	}
	worker := leader
	if w.Worker != nil {
		worker, size = &podTemplate{Metadata: meta, Spec: *w.Worker}, w.Parallelism.pods()
	}
	w.preset(&leader.Spec)
	w.preset(&worker.Spec)
	g := leaderGroup(o, name, leader, worker, size)
	dress := g.dress
	g.dress = func(run int, within, index int64) *pod {
		p := dress(run, within, index)
		p.preset = true
		return p
	}
	return r.group(g)
}

// pods is the size of the group that KServe makes: hosts of dataLocal replicas, or one pod for each pipeline stage.
func (p *parallelism) pods() int64 {
	switch {
	case p == nil:
		return 1
	case p.isData():
		return max(orOne(p.Data)/orOne(p.DataLocal), 1)
	default:
		return orOne(p.Pipeline)
	}
}

func (p *parallelism) isData() bool {
	return p.Data != nil || p.DataLocal != nil
}

func orOne(size *int64) int64 {
	if size == nil {
		return 1
	}
	return max(*size, 1)
}
