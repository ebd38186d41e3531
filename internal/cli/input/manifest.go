package input

import (
	"strings"

	"github.com/tiergate/tiergate/topology/kube"
)

// engines reads Kubernetes objects; every engine that they start is an input of its own.
func engines(source string, data []byte) []Input {
	found, err := kube.Read(data)
	if err != nil {
		return []Input{{Source: source, Err: err}}
	}
	all := make([]Input, len(found))
	for i, engine := range found {
		place := strings.Replace(engine.Source, ", container ", "/", 1)
		all[i] = Input{Source: source + "#" + place, Launch: engine.Launch}
	}
	return all
}
