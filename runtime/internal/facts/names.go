package facts

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// maxName is the longest name that Kubernetes gives to anything, in bytes. Names are for people: longer ones are cut.
const maxName = 253

// prefixes are how manifests begin the variables that they fill from the downward API, which names none itself.
var prefixes = []string{"", "K8S_", "MY_", "KUBE_", "KUBERNETES_"}

// names takes names from the environment. Outside Kubernetes there is no pod whose name could be missing.
func (r *reading) names() {
	host, err := os.Hostname()
	if err != nil {
		r.absent(err, "hostname")
	}
	r.facts.Hostname = host
	r.facts.Node = cmp.Or(r.variable("TIERGATE_NODE"), r.downward("NODE_NAME"), r.variable("SLURMD_NODENAME"), host)
	r.facts.Pod, r.facts.Namespace, r.facts.PodUID = r.downward("POD_NAME"), r.downward("POD_NAMESPACE"), r.downward("POD_UID")
	if r.variable("KUBERNETES_SERVICE_HOST") == "" {
		return
	}
	for _, name := range [][3]string{
		{"pod", r.facts.Pod, "POD_NAME"}, {"namespace", r.facts.Namespace, "POD_NAMESPACE"}, {"pod_uid", r.facts.PodUID, "POD_UID"},
	} {
		if name[1] == "" {
			r.absent(fmt.Errorf("set %s by the downward API", name[2]), name[0])
		}
	}
}

// downward returns a variable by the first of its spellings that is set.
func (r *reading) downward(name string) (value string) {
	for _, prefix := range prefixes {
		value = cmp.Or(value, r.variable(prefix+name))
	}
	return value
}

// variable returns the value of a variable as a name. Of doubles the last counts, as in the C library.
func (r *reading) variable(name string) string {
	for _, entry := range slices.Backward(r.Env) {
		if value, found := strings.CutPrefix(entry, name+"="); found {
			value = strings.TrimSpace(strings.ToValidUTF8(value, "?"))
			return strings.ToValidUTF8(value[:min(len(value), maxName)], "")
		}
	}
	return ""
}
