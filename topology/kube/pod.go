package kube

import "regexp"

// pod is one pod of an engine: a template and what its controller adds to it.
type pod struct {
	*podTemplate
	// id is the node id of the launch, name the pod's own name; it is empty where the API server makes one up.
	id, name string
	// namespace is empty where the manifest leaves it to kubectl.
	namespace string
	// labels also stand for annotations: controllers add the same keys as either.
	labels map[string]string
	// injected are variables that the controller puts before those of every container that does not set them itself.
	injected []envVar
	// preset tells pods that a controller completes from a template of its own, which mounts a volume dshm at /dev/shm.
	preset bool
	// ray tells pods in which KubeRay replaces the entrypoint of an image by ray start.
	ray bool
}

var keyed = regexp.MustCompile(`^metadata\.(labels|annotations)\['(.+)'\]$`)

// field is the value of a fieldRef, as far as it is known before the pod exists.
func (p *pod) field(path string) (value string, known bool) {
	switch path {
	case "metadata.name":
		return p.name, p.name != ""
	case "metadata.namespace":
		return p.namespace, p.namespace != ""
	}
	match := keyed.FindStringSubmatch(path)
	if match == nil {
		return "", false
	}
	values := p.Metadata.Labels
	if match[1] == "annotations" {
		values = p.Metadata.Annotations
	}
	if value, known = values[match[2]]; known {
		return value, true
	}
	value, known = p.labels[match[2]]
	return value, known
}
