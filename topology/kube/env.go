package kube

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// environment is what a container's process starts with.
type environment struct {
	known map[string]string
	// unknown are variables that will have a value that nobody knows yet.
	unknown map[string]bool
	// open is true where a source that is not in the file may set any variable.
	open bool
}

// configMaps holds the data of the ConfigMaps of a file by name.
type configMaps map[string]map[string]string

// environmentOf follows the kubelet: what the controller injects comes first, then envFrom, then env, and the last
// value of a name wins.
func environmentOf(c *container, p *pod, maps configMaps) *environment {
	e := &environment{known: map[string]string{}, unknown: map[string]bool{}}
	command := strings.Join(slices.Concat(c.Command, c.Args), "\n")
	if strings.Contains(command, hostname) {
		e.hostname(p)
	}
	for _, source := range c.EnvFrom {
		e.from(&source, maps)
	}
	for _, v := range p.injected {
		e.set(v.Name, v.Value)
	}
	for i := range c.Env {
		e.add(&c.Env[i], p, maps)
	}
	if e.open {
		e.doubt(command)
	}
	return e
}

// hostname is the variable in which a container finds the name of its pod.
const hostname = "HOSTNAME"

func (e *environment) hostname(p *pod) {
	const limit = 63
	if p.name == "" {
		e.hide(hostname)
		return
	}
	e.set(hostname, strings.TrimRight(p.name[:min(len(p.name), limit)], "-."))
}

// from takes the variables of one envFrom source.
func (e *environment) from(source *envFrom, maps configMaps) {
	if source.ConfigMapRef != nil {
		if data, found := maps[source.ConfigMapRef.Name]; found {
			for key, value := range data {
				e.set(source.Prefix+key, value)
			}
			return
		}
	}
	e.open = true
}

// add takes one variable of the env list.
func (e *environment) add(v *envVar, p *pod, maps configMaps) {
	if v.ValueFrom == nil {
		e.expand(v.Name, v.Value)
		return
	}
	value, known := "", false
	switch ref := v.ValueFrom; {
	case ref.FieldRef != nil:
		value, known = p.field(ref.FieldRef.FieldPath)
	case ref.ConfigMapKeyRef != nil:
		value, known = maps[ref.ConfigMapKeyRef.Name][ref.ConfigMapKeyRef.Key]
	}
	if known {
		e.set(v.Name, value)
	} else {
		e.hide(v.Name)
	}
}

var reference = regexp.MustCompile(`\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)`)

// expand sets a variable to a value in which $(NAME) stands for a variable before it and $$ for a dollar sign. A name
// that is not there may be one of those that the cluster sets for services.
func (e *environment) expand(name, value string) {
	known := true
	text := reference.ReplaceAllStringFunc(value, func(ref string) string {
		if ref == "$$" {
			return "$"
		}
		inner, set := e.known[ref[2:len(ref)-1]]
		known = known && set
		return inner
	})
	if known {
		e.set(name, text)
	} else {
		e.hide(name)
	}
}

func (e *environment) set(name, value string) {
	e.known[name] = value
	delete(e.unknown, name)
}

func (e *environment) hide(name string) {
	e.unknown[name] = true
	delete(e.known, name)
}

var used = regexp.MustCompile(`\$[({]?([A-Za-z_][A-Za-z0-9_]*)`)

// doubt makes the variables unknown that a command uses and that an open source may set: their shell defaults must not
// be taken. Variables that only vLLM itself reads are not doubted, as nearly every manifest has such a source for its
// tokens.
func (e *environment) doubt(command string) {
	for _, match := range used.FindAllStringSubmatch(command, -1) {
		if _, set := e.known[match[1]]; !set {
			e.unknown[match[1]] = true
		}
	}
}

// names lists the unknown variables in a fixed order; nil where there are none.
func (e *environment) names() []string {
	return slices.Sorted(maps.Keys(e.unknown))
}
