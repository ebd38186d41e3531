package runtime

import (
	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/runtime/internal/facts"
)

// Facts returns what this process can find out about where it runs, within milliseconds. The environment, a list of
// NAME=value, gives the names of node and pod. It never fails: what could not be read is in Absent.
func Facts(env []string) v1.NodeFacts { return facts.Collect(env) }
