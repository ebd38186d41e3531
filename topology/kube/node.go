package kube

import (
	"path"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// runtimeShm is what containerd and CRI-O mount at /dev/shm of a pod that mounts nothing there. Bytes.
const runtimeShm = 64 << 20

// node is the pod as a node of the launch, seen from one of its containers: a volume at /dev/shm, its GPUs and its
// memory are the container's own.
func (p *pod) node(c *container) v1.Node {
	node := v1.Node{ID: p.id, Shm: p.Spec.shm(c, p.preset), GPUs: c.Resources.accelerators()}
	if limit := smaller(c.Resources.memory(), p.Spec.Resources.memory()); limit != nil {
		node.Memory = &v1.Memory{LimitBytes: limit}
	}
	return node
}

// shm describes what the container sees at /dev/shm, nil where the manifest does not tell. Pods share it only through
// their host, so that everything which is neither the runtime's default nor an emptyDir counts as the host's.
func (s *podSpec) shm(c *container, preset bool) *v1.Shm {
	mounted := ""
	for _, mount := range c.VolumeMounts {
		if path.Clean(mount.MountPath) == "/dev/shm" {
			mounted = mount.Name
		}
	}
	switch {
	case mounted != "":
		return s.volumeShm(mounted)
	case preset:
		return s.volumeShm("dshm")
	case s.HostIPC:
		return &v1.Shm{Host: true}
	default:
		return sized(new(int64(runtimeShm)))
	}
}

func (s *podSpec) volumeShm(name string) *v1.Shm {
	for i := range s.Volumes {
		switch v := &s.Volumes[i]; {
		case v.Name != name:
		case v.EmptyDir == nil:
			return &v1.Shm{Host: true}
		case strings.HasPrefix(v.EmptyDir.Medium, "Memory"):
			// The kubelet makes the tmpfs no larger than the memory that the pod may have.
			return sized(smaller((*int64)(v.EmptyDir.SizeLimit), s.memory()))
		default:
			return sized((*int64)(v.EmptyDir.SizeLimit))
		}
	}
	return nil
}

// sized is a mount of the pod's own, which is empty when the pod starts.
func sized(total *int64) *v1.Shm {
	if total == nil {
		return nil
	}
	return &v1.Shm{TotalBytes: total, FreeBytes: total}
}

// memory is the limit of the pod: its own, or the sum of its containers' where all of them have one.
func (s *podSpec) memory() *int64 {
	if limit := s.Resources.memory(); limit != nil {
		return limit
	}
	sum := int64(0)
	for _, c := range s.running() {
		limit := c.Resources.memory()
		if limit == nil || sum+*limit < sum {
			return nil
		}
		sum += *limit
	}
	return &sum
}

func (r *resources) memory() *int64 {
	limit, found := r.Limits["memory"]
	if !found {
		return nil
	}
	return (*int64)(&limit)
}

// acceleratorPrefixes begin the names under which device plugins offer what vLLM computes on.
var acceleratorPrefixes = []string{
	"nvidia.com/gpu", "nvidia.com/mig-", "amd.com/gpu", "gpu.intel.com/", "google.com/tpu", "habana.ai/gaudi",
	"huawei.com/Ascend", "aws.amazon.com/neuron",
}

// accelerators counts them, nil where the container asks for none: it may still see some, through a resource claim or
// because it is privileged.
func (r *resources) accelerators() *int64 {
	var count *int64
	for name, limit := range r.Limits {
		for _, prefix := range acceleratorPrefixes {
			if strings.HasPrefix(name, prefix) {
				if count == nil {
					count = new(int64)
				}
				*count += int64(limit)
			}
		}
	}
	return count
}

func smaller(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}
