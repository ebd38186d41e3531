package kube

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/vllm"
)

// Engine is one engine of a manifest. Replicas of it are launched alike and are not repeated.
type Engine struct {
	// Source says where it stands, e.g. "Deployment/decode, container modelserver".
	Source string
	Launch *v1.Launch
}

// start is an engine in a pod of its own, before it is known which other pods it takes.
type start struct {
	container *container
	// where says what of the object starts it, e.g. "container vllm".
	where  string
	engine v1.Engine
	// resolved is the configuration of the engine on this pod alone.
	resolved *topology.Engine
}

// starts lists the engines that the containers of a pod start. A container whose command cannot be followed is an error
// only if it speaks of vLLM: a pod has other programs beside its engine.
func (r *reader) starts(p *pod) ([]start, error) {
	var list []start
	for _, c := range p.Spec.running() {
		where := "container " + c.Name
		r.look(c, where)
		found, err := r.start(c, p)
		switch {
		case err == nil:
			found.where = where
			list = append(list, *found)
		case errors.Is(err, vllm.ErrNoEngine):
		case strings.Contains(c.line(), "vllm"):
			return nil, r.fail(CodeInvalidEngine, err, "%s: %v", where, err)
		}
	}
	return list, nil
}

// start resolves what a container starts. Errors are package vllm's.
func (r *reader) start(c *container, p *pod) (*start, error) {
	env := environmentOf(c, p, r.maps)
	var err error = vllm.ErrNoEngine
	for _, command := range p.commands(c) {
		if len(command) == 0 {
			continue
		}
		engine := v1.Engine{Version: engineVersion(c.Image), Command: command, Env: env.known, EnvUnknown: env.names()}
		var resolved *topology.Engine
		resolved, err = vllm.Resolve(&v1.Launch{Engine: engine, Nodes: []v1.Node{p.node(c)}})
		if err == nil {
			return &start{container: c, engine: engine, resolved: resolved}, nil
		}
	}
	return nil, err
}

// look remembers what was looked at, for the message that there is no engine.
func (r *reader) look(c *container, where string) {
	r.looked = append(r.looked, r.object+", "+where+": "+shorten(cmp.Or(c.line(), "the entrypoint of image "+c.Image)))
}

// line is the command line as one text.
func (c *container) line() string {
	return strings.Join(slices.Concat(c.Command, c.Args), " ")
}
