package facts

import (
	"fmt"
	"os"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// maxName is the longest name that Kubernetes gives to anything, in bytes. Names are for people: longer ones are cut.
const maxName = 253

// named is a name that the environment may give.
type named struct {
	fact      string
	field     func(*v1.NodeFacts) *string
	variables []string
}

// The variables that manifests fill from the downward API, by how common they are; the API has no names of its own.
var (
	nodeName = []string{
		"TIERGATE_NODE", "NODE_NAME", "K8S_NODE_NAME", "MY_NODE_NAME", "KUBE_NODE_NAME", "KUBERNETES_NODE_NAME",
		"SLURMD_NODENAME",
	}
	podNames = []named{
		{
			"pod", func(f *v1.NodeFacts) *string { return &f.Pod },
			[]string{"POD_NAME", "K8S_POD_NAME", "MY_POD_NAME", "KUBE_POD_NAME", "KUBERNETES_POD_NAME"},
		},
		{
			"namespace", func(f *v1.NodeFacts) *string { return &f.Namespace },
			[]string{"POD_NAMESPACE", "K8S_POD_NAMESPACE", "MY_POD_NAMESPACE", "KUBE_NAMESPACE", "KUBERNETES_NAMESPACE"},
		},
		{
			"pod_uid", func(f *v1.NodeFacts) *string { return &f.PodUID },
			[]string{"POD_UID", "K8S_POD_UID", "MY_POD_UID", "KUBE_POD_UID", "KUBERNETES_POD_UID"},
		},
	}
)

// names takes names from the environment. Outside Kubernetes there is no pod whose name could be missing.
func (r *reading) names() {
	host, err := os.Hostname()
	if err != nil {
		r.absent(err, "hostname")
	}
	r.facts.Hostname = host
	if r.facts.Node = r.variable(nodeName...); r.facts.Node == "" {
		r.facts.Node = host
	}
	for _, name := range podNames {
		value := r.variable(name.variables...)
		*name.field(&r.facts) = value
		if value == "" && r.variable("KUBERNETES_SERVICE_HOST") != "" {
			r.absent(fmt.Errorf("set %s by the downward API", name.variables[0]), name.fact)
		}
	}
}

// variable returns the first of several variables that is not empty. Of doubles the last counts, as in the C library.
func (r *reading) variable(names ...string) string {
	for _, name := range names {
		for i := len(r.Env) - 1; i >= 0; i-- {
			value, found := strings.CutPrefix(r.Env[i], name+"=")
			if !found {
				continue
			}
			value = strings.TrimSpace(strings.ToValidUTF8(value, "?"))
			if value != "" {
				return strings.ToValidUTF8(value[:min(len(value), maxName)], "")
			}
			break
		}
	}
	return ""
}
