package document

import (
	"bytes"
	"sort"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Text is a document as JSON text. Where it was YAML, it also knows the line that each key and value came from.
type Text struct {
	JSON  []byte
	marks []mark
}

// mark says that the JSON text from offset on comes from a line of the YAML source.
type mark struct {
	offset, line int
}

// shownPointer bounds the pointer of an error; the names in it may be hostile.
const shownPointer = 128

// locate completes an error with the line that its pointer stands for.
func (t Text) locate(problem *Error) *Error {
	if problem.Line == 0 {
		problem.Line = t.LineOf(problem.Pointer)
	}
	problem.Pointer = shorten(problem.Pointer, shownPointer)
	return problem
}

// LineOf returns the line of the value that a JSON pointer names, or else of its innermost parent that is there. It is
// 0 for a document that was JSON.
func (t Text) LineOf(pointer string) int {
	if len(t.marks) == 0 {
		return 0
	}
	offset := offsetOf(t.JSON, jsontext.Pointer(pointer))
	next := sort.Search(len(t.marks), func(i int) bool { return t.marks[i].offset > offset })
	return t.marks[max(next-1, 0)].line
}

// offsetOf descends JSON text along the pointer and skips everything beside it, so that its time is linear.
func offsetOf(text []byte, pointer jsontext.Pointer) int {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text))
	offset := 0
	for name := range pointer.Tokens() {
		inner, found := enter(decoder, name)
		if !found {
			break
		}
		offset = inner
	}
	return offset
}

// enter moves the decoder into the object or list that comes next, up to the value of that name or index.
func enter(decoder *jsontext.Decoder, name string) (offset int, found bool) {
	open, err := decoder.ReadToken()
	if err != nil {
		return 0, false
	}
	switch open.Kind() {
	case '{':
		for decoder.PeekKind() == '"' {
			key, err := decoder.ReadToken()
			if err == nil && key.String() == name {
				return int(decoder.InputOffset()), true
			}
			if decoder.SkipValue() != nil {
				return 0, false
			}
		}
	case '[':
		index, err := strconv.Atoi(name)
		for i := 0; err == nil && i < index; i++ {
			err = decoder.SkipValue()
		}
		// The text was written without spaces: only a comma stands between two elements.
		return int(decoder.InputOffset()) + min(index, 1), err == nil
	}
	return 0, false
}
