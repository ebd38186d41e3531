package document

import "go.yaml.in/yaml/v3"

// member is one key of a mapping with its value. Line is the key's; aliased is true where a merge key brought it.
type member struct {
	name    string
	line    int
	value   *yaml.Node
	aliased bool
}

// members lists a mapping's own keys, then those that its merge keys add: an own key wins over a merged one, and an
// earlier mapping of a merged list over a later.
func (w *writer) members(node *yaml.Node) ([]member, *Error) {
	members := make([]member, 0, len(node.Content)/2)
	lines := make(map[string]int, len(node.Content)/2)
	var merged *yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		name, problem := w.key(key)
		if problem != nil {
			return nil, problem
		}
		if first, twice := lines[name]; twice {
			w.path = append(w.path, step{name: &name})
			return nil, w.fail(CodeDuplicateKey, key, "key %s is given twice, first on line %d; keep one", quote(name), first)
		}
		lines[name] = key.Line
		if isMerge(key) {
			merged = value
			continue
		}
		members = append(members, member{name: name, line: key.Line, value: value})
	}
	if merged == nil {
		return members, nil
	}
	return w.merge(members, merged, lines)
}

// merge adds the members of one mapping, or of each in a list, that are not there yet.
func (w *writer) merge(members []member, source *yaml.Node, have map[string]int) ([]member, *Error) {
	if source.Kind == yaml.AliasNode {
		source = source.Alias
		w.aliases++
		defer func() { w.aliases-- }()
	}
	w.path = append(w.path, step{name: &mergeKey})
	if problem := w.enter(source); problem != nil {
		return nil, problem
	}
	defer func() {
		w.leave(source)
		w.path = w.path[:len(w.path)-1]
	}()
	switch source.Kind {
	case yaml.MappingNode:
		added, problem := w.members(source)
		if problem != nil {
			return nil, problem
		}
		for _, member := range added {
			if _, given := have[member.name]; !given {
				have[member.name] = member.line
				member.aliased = true
				members = append(members, member)
			}
		}
		return members, nil
	case yaml.SequenceNode:
		var problem *Error
		for _, element := range source.Content {
			if members, problem = w.merge(members, element, have); problem != nil {
				return nil, problem
			}
		}
		return members, nil
	default:
		return nil, w.fail(CodeInvalidType, source, "the merge key << wants a mapping or a list of mappings, got a scalar")
	}
}

// mergeKey stands in a pointer for the merging.
var mergeKey = "<<"

func isMerge(key *yaml.Node) bool {
	return key.ShortTag() == "!!merge"
}

// key returns the text of a key. Whole numbers and booleans are taken by their text, as Kubernetes does.
func (w *writer) key(key *yaml.Node) (string, *Error) {
	if key.Kind == yaml.AliasNode {
		key = key.Alias
	}
	w.count(key)
	if key.Kind == yaml.ScalarNode {
		switch key.ShortTag() {
		case "!!str", "!!merge", "!!timestamp", "!!bool", "!!int":
			return key.Value, nil
		}
	}
	return "", w.fail(CodeInvalidType, key, "a key of type %s; keys are strings, put it in quotes", key.ShortTag())
}
