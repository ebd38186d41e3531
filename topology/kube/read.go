package kube

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tiergate/tiergate/topology/document"
)

// Read finds the engines of a manifest: YAML documents separated by ---, or JSON, with one object each or a List.
// Objects that create no pods are skipped, except that ConfigMaps give their values to the containers that refer to
// them. A file without an engine is an error with ErrNoEngine in its chain. All errors are *Error.
func Read(data []byte) ([]Engine, error) {
	objects, err := split(data)
	if err != nil {
		return nil, err
	}
	r := &reader{maps: configMaps{}}
	for i := range objects {
		if err := r.configMap(&objects[i]); err != nil {
			return nil, err
		}
	}
	for i := range objects {
		if err := r.read(&objects[i]); err != nil {
			return nil, err
		}
	}
	if len(r.engines) == 0 {
		return nil, r.noEngine(objects)
	}
	return r.engines, nil
}

// object is one object of a file.
type object struct {
	header
	text document.Text
	line int
}

// name is the kind and name, for messages and as the source of an engine.
func (o *object) name() string { return o.header.object() }

// split parses the objects of a file, those of Lists included.
func split(data []byte) ([]object, error) {
	if len(data) > document.MaxBytes {
		return nil, &Error{
			Code:   document.CodeTooLarge,
			Detail: fmt.Sprintf("the file has %d bytes, at most %d are read", len(data), document.MaxBytes),
		}
	}
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '{' && jsontext.Value(data).IsValid() {
		return unpack(nil, document.Text{JSON: data}, 0)
	}
	var objects []object
	for _, part := range document.Split(data) {
		text, err := part.Text()
		if err != nil {
			return nil, unreadable("", err)
		}
		if objects, err = unpack(objects, text, part.Line); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// unpack appends an object, or the items of a List. Items of Lists are no Lists again.
func unpack(objects []object, text document.Text, line int) ([]object, error) {
	o := object{text: text, line: line}
	if err := text.Extract(&o.header); err != nil {
		return nil, unreadable("", err)
	}
	if !strings.HasSuffix(o.Kind, "List") || o.Items == nil {
		return append(objects, o), nil
	}
	for i, raw := range o.Items {
		item := object{text: document.Text{JSON: raw}, line: text.LineOf(fmt.Sprintf("/items/%d", i))}
		if err := item.text.Extract(&item.header); err != nil {
			return nil, unreadable(fmt.Sprintf("%s item %d", o.Kind, i), err)
		}
		objects = append(objects, item)
	}
	return objects, nil
}

// reader collects the engines of a file.
type reader struct {
	maps    configMaps
	engines []Engine
	// object and line are those of the object being read.
	object string
	line   int
	// pods counts against maxPods.
	pods int64
	// looked lists the containers that were looked at.
	looked []string
}

func (r *reader) configMap(o *object) error {
	if o.Kind != "ConfigMap" {
		return nil
	}
	var spec struct {
		Data map[string]string `json:"data"`
	}
	if err := o.text.Extract(&spec); err != nil {
		return unreadable(o.name(), err)
	}
	r.maps[o.Metadata.Name] = spec.Data
	return nil
}

// read finds the engines of one object by its kind.
func (r *reader) read(o *object) error {
	r.object, r.line = o.name(), o.line
	switch o.Kind {
	case "Pod":
		return r.barePod(o)
	case "LeaderWorkerSet":
		return r.leaderWorkerSet(o)
	case "RayCluster", "RayJob", "RayService":
		return r.ray(o)
	case "LLMInferenceService":
		return r.inferenceService(o)
	default:
		return r.workload(o)
	}
}

func (r *reader) fail(code string, cause error, format string, args ...any) error {
	return &Error{Code: code, Object: r.object, Line: r.line, Detail: fmt.Sprintf(format, args...), err: cause}
}

// noEngine says what was looked at.
func (r *reader) noEngine(objects []object) error {
	seen := r.looked
	if len(seen) == 0 {
		for i := range objects {
			seen = append(seen, objects[i].name()+" creates no pods that are read")
		}
	}
	const most = 8
	detail := "no container starts a vLLM engine; looked at "
	switch {
	case len(seen) == 0:
		detail = "the file holds no object"
	case len(seen) > most:
		detail += strings.Join(seen[:most], "; ") + fmt.Sprintf("; and %d more", len(seen)-most)
	default:
		detail += strings.Join(seen, "; ")
	}
	return &Error{Code: CodeNoEngine, Detail: detail, err: ErrNoEngine}
}
