package document

import (
	"encoding/json"
	"strconv"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Launch decodes one launch document and checks that what every launch must say is there: an engine, an id for every
// node, and a node for every worker. Ranks are not judged here: an omitted rank is 0, as encoders that drop zero values
// write it, and the check topology.ranks reports ranks that do not make up the grid. Media types and errors are
// Decode's.
func Launch(data []byte, mediaType string) (*v1.Launch, error) {
	text, err := read(data, mediaType)
	if err != nil {
		return nil, err
	}
	return text.launch()
}

func (t Text) launch() (*v1.Launch, error) {
	launch := new(v1.Launch)
	if err := t.decode(launch); err != nil {
		return nil, err
	}
	if problem := complete(launch); problem != nil {
		return nil, t.locate(problem)
	}
	return launch, nil
}

// complete checks what the decoder cannot: members that must be there, and the depth of values that are kept verbatim.
func complete(launch *v1.Launch) *Error {
	if saysNothing(&launch.Engine) {
		return errorf(CodeMissingField, "/engine", "engine is missing or empty; give its command, "+
			"or fields such as parallel, executor and kv_transfer")
	}
	if tooDeep(launch.Engine.KVTransfer, 2) {
		return depthError("/engine/kv_transfer")
	}
	for i := range launch.Nodes {
		if launch.Nodes[i].ID == "" {
			return errorf(CodeMissingField, item("/nodes/", i), "node has no id; "+
				"give each node an id, workers refer to it")
		}
	}
	for i := range launch.Workers {
		worker := &launch.Workers[i]
		if worker.Node == "" {
			return errorf(CodeMissingField, item("/workers/", i), "worker of rank %d has no node; "+
				"name the node that it runs on, or leave workers out where the placement is not known", worker.Rank)
		}
		if worker.Config != nil && tooDeep(worker.Config.KVTransfer, 4) {
			return depthError(item("/workers/", i) + "/config/kv_transfer")
		}
	}
	if launch.Core != nil && launch.Core.Node == "" {
		return errorf(CodeMissingField, "/core", "core has no node; name the node that the engine core runs on, "+
			"or leave core out")
	}
	return nil
}

// saysNothing is true for an engine from which no launch could be derived. Without this, a launcher that lost its
// fields would be told that an engine of one worker may start.
func saysNothing(engine *v1.Engine) bool {
	return len(engine.Command) == 0 && engine.Parallel == nil && engine.Executor == "" && engine.Nnodes == nil &&
		len(engine.KVTransfer) == 0
}

func item(list string, index int) string {
	return list + strconv.Itoa(index)
}

func depthError(pointer string) *Error {
	return errorf(CodeTooDeep, pointer, "objects and lists are nested more than %d levels deep; flatten them", maxDepth)
}

// tooDeep counts the brackets of valid JSON text that starts inside that many objects and lists.
func tooDeep(text json.RawMessage, depth int) bool {
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
