package facts

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "github.com/tiergate/tiergate/api/v1"
)

func TestNames(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	for name, test := range map[string]struct {
		env    []string
		want   []string // node, pod, namespace, pod uid
		absent string
	}{
		"nothing":         {nil, []string{host, "", "", ""}, ""},
		"ours wins":       {[]string{"NODE_NAME=b", "TIERGATE_NODE=a"}, []string{"a", "", "", ""}, ""},
		"Slurm":           {[]string{"SLURMD_NODENAME=g7"}, []string{"g7", "", "", ""}, ""},
		"pod over job":    {[]string{"SLURMD_NODENAME=g7", "MY_NODE_NAME=n"}, []string{"n", "", "", ""}, ""},
		"empty is no one": {[]string{"TIERGATE_NODE= ", "K8S_NODE_NAME= n\n"}, []string{"n", "", "", ""}, ""},
		"last of doubles": {[]string{"NODE_NAME=a", "NODE_NAME=b"}, []string{"b", "", "", ""}, ""},
		"whole names":     {[]string{"XNODE_NAME=a", "NODE_NAME_X=b"}, []string{host, "", "", ""}, ""},
		"not text":        {[]string{"NODE_NAME=a\xff\xfeb"}, []string{"a?b", "", "", ""}, ""},
		"long":            {[]string{"NODE_NAME=" + strings.Repeat("é", 200)}, []string{strings.Repeat("é", 126), "", "", ""}, ""},
		"pod": {
			[]string{"KUBERNETES_SERVICE_HOST=10.0.0.1", "POD_NAME=p", "POD_NAMESPACE=ns", "POD_UID=u"},
			[]string{host, "p", "ns", "u"},
			"",
		},
		"pod that does not say": {
			[]string{"KUBERNETES_SERVICE_HOST=10.0.0.1", "MY_POD_NAME=p"},
			[]string{host, "p", "", ""},
			"namespace: set POD_NAMESPACE by the downward API; pod_uid: set POD_UID by the downward API",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := reading{Collector: Collector{Env: test.env}}
			r.names()
			f := r.facts
			assert.Equal(t, test.want, []string{f.Node, f.Pod, f.Namespace, f.PodUID})
			assert.Equal(t, host, f.Hostname)
			assert.Equal(t, test.absent, reasons(f))
		})
	}
}

// reasons writes what is absent and why.
func reasons(f v1.NodeFacts) string {
	var list []string
	for _, a := range f.Absent {
		list = append(list, a.Fact+": "+a.Reason)
	}
	return strings.Join(list, "; ")
}
