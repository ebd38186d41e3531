package document

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// maxExpanded bounds what all aliases of a document stand for, in bytes; every node counts for at least nodeBytes.
// Without it, a few hundred bytes can stand for more than any memory holds.
const (
	maxExpanded = 1 << 20
	nodeBytes   = 8
)

// writer writes YAML nodes as JSON text without spaces.
type writer struct {
	out   []byte
	marks []mark
	// path leads to the node being written. It becomes a pointer only when an error needs one.
	path []step
	// open holds the anchored nodes being written: an alias to one of them would never end.
	open map[*yaml.Node]bool
	// aliases is how many aliases lead to the node being written; expanded is counted against maxExpanded.
	aliases  int
	expanded int
}

// step is the name of an object's member or, where that is nil, the index of a list's element.
type step struct {
	name  *string
	index int
}

func (w *writer) value(node *yaml.Node) *Error {
	if problem := w.enter(node); problem != nil {
		return problem
	}
	defer w.leave(node)
	w.mark(node.Line)
	switch node.Kind {
	case yaml.AliasNode:
		w.aliases++
		defer func() { w.aliases-- }()
		return w.value(node.Alias)
	case yaml.MappingNode:
		return w.object(node)
	case yaml.SequenceNode:
		return w.list(node)
	default:
		return w.scalar(node)
	}
}

// enter counts what aliases expand to, and refuses a node that contains itself or is nested too deeply.
func (w *writer) enter(node *yaml.Node) *Error {
	if w.count(node); w.expanded > maxExpanded {
		return w.fail(CodeTooLarge, node, "aliases stand for more than %d bytes; use fewer of them", maxExpanded)
	}
	if w.open[node] {
		return w.fail(CodeAliasCycle, node, "anchor %s contains itself; an alias may only name an anchor that is complete",
			quote(node.Anchor))
	}
	if nests := node.Kind == yaml.MappingNode || node.Kind == yaml.SequenceNode; nests && len(w.path) >= maxDepth {
		problem := depthError(w.pointer())
		problem.Line = node.Line
		return problem
	}
	if node.Anchor != "" && node.Kind != yaml.AliasNode {
		if w.open == nil {
			w.open = map[*yaml.Node]bool{}
		}
		w.open[node] = true
	}
	return nil
}

func (w *writer) count(node *yaml.Node) {
	if w.aliases > 0 {
		w.expanded += nodeBytes + len(node.Value)
	}
}

func (w *writer) leave(node *yaml.Node) {
	delete(w.open, node)
}

func (w *writer) object(node *yaml.Node) *Error {
	members, problem := w.members(node)
	if problem != nil {
		return problem
	}
	w.out = append(w.out, '{')
	for i := range members {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if problem := w.member(&members[i]); problem != nil {
			return problem
		}
	}
	w.out = append(w.out, '}')
	return nil
}

func (w *writer) member(member *member) *Error {
	if member.aliased {
		w.aliases++
		defer func() { w.aliases-- }()
	}
	w.path = append(w.path, step{name: &member.name})
	w.mark(member.line)
	if problem := w.text(member.name, member.value); problem != nil {
		return problem
	}
	w.out = append(w.out, ':')
	if problem := w.value(member.value); problem != nil {
		return problem
	}
	w.path = w.path[:len(w.path)-1]
	return nil
}

func (w *writer) list(node *yaml.Node) *Error {
	w.out = append(w.out, '[')
	for i, element := range node.Content {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.path = append(w.path, step{index: i})
		if problem := w.value(element); problem != nil {
			return problem
		}
		w.path = w.path[:len(w.path)-1]
	}
	w.out = append(w.out, ']')
	return nil
}

func (w *writer) mark(line int) {
	w.marks = append(w.marks, mark{offset: len(w.out), line: line})
}

func (w *writer) fail(code string, node *yaml.Node, format string, args ...any) *Error {
	problem := errorf(code, w.pointer(), format, args...)
	problem.Line = node.Line
	return problem
}

func (w *writer) pointer() string {
	var pointer jsontext.Pointer
	for _, step := range w.path {
		if step.name == nil {
			pointer = pointer.AppendToken(strconv.Itoa(step.index))
		} else {
			pointer = pointer.AppendToken(*step.name)
		}
	}
	return string(pointer)
}
