package kube

import (
	"cmp"
	"encoding/json"
)

// header is what every object begins with.
type header struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metadata          `json:"metadata"`
	Items      []json.RawMessage `json:"items"`
}

// object names it for messages.
func (h *header) object() string {
	return cmp.Or(h.Kind, "object") + "/" + h.Metadata.name()
}

type metadata struct {
	Name         string            `json:"name"`
	GenerateName string            `json:"generateName"`
	Namespace    string            `json:"namespace"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
}

func (m *metadata) name() string {
	return cmp.Or(m.Name, m.GenerateName, "unnamed")
}

// podTemplate is a pod, or what a controller makes pods from.
type podTemplate struct {
	Metadata metadata `json:"metadata"`
	Spec     podSpec  `json:"spec"`
}

type podSpec struct {
	HostIPC        bool        `json:"hostIPC"`
	InitContainers []container `json:"initContainers"`
	Containers     []container `json:"containers"`
	Volumes        []volume    `json:"volumes"`
	// Resources are those of the whole pod.
	Resources resources `json:"resources"`
}

// running lists the containers that run as long as the pod does: init containers that restart are sidecars.
func (s *podSpec) running() []*container {
	var list []*container
	for i := range s.InitContainers {
		if s.InitContainers[i].RestartPolicy == "Always" {
			list = append(list, &s.InitContainers[i])
		}
	}
	for i := range s.Containers {
		list = append(list, &s.Containers[i])
	}
	return list
}

// working is the container that the pod is for: the one with accelerators, else the first.
func (s *podSpec) working() *container {
	list := s.running()
	for _, c := range list {
		if c.Resources.accelerators() != nil {
			return c
		}
	}
	if len(list) == 0 {
		return &container{}
	}
	return list[0]
}

type container struct {
	Name          string        `json:"name"`
	Image         string        `json:"image"`
	Command       []string      `json:"command"`
	Args          []string      `json:"args"`
	Env           []envVar      `json:"env"`
	EnvFrom       []envFrom     `json:"envFrom"`
	Resources     resources     `json:"resources"`
	VolumeMounts  []volumeMount `json:"volumeMounts"`
	RestartPolicy string        `json:"restartPolicy"`
}

type envVar struct {
	Name      string     `json:"name"`
	Value     string     `json:"value"`
	ValueFrom *valueFrom `json:"valueFrom"`
}

type valueFrom struct {
	FieldRef *struct {
		FieldPath string `json:"fieldPath"`
	} `json:"fieldRef"`
	ConfigMapKeyRef *struct {
		Name string `json:"name"`
		Key  string `json:"key"`
	} `json:"configMapKeyRef"`
}

type envFrom struct {
	Prefix       string `json:"prefix"`
	ConfigMapRef *struct {
		Name string `json:"name"`
	} `json:"configMapRef"`
}

type resources struct {
	Limits map[string]quantity `json:"limits"`
}

type volumeMount struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
}

// volume holds only those of its sources that may be behind /dev/shm without being shared with other pods.
type volume struct {
	Name     string `json:"name"`
	EmptyDir *struct {
		Medium    string    `json:"medium"`
		SizeLimit *quantity `json:"sizeLimit"`
	} `json:"emptyDir"`
}
