package document

import (
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/tiergate/tiergate/topology"
)

// unknownField names the allowed names; one that is within a third of the letters is suggested alone.
func unknownField(err *json.SemanticError) *Error {
	name := err.JSONPointer.LastToken()
	problem := errorf(CodeUnknownField, string(err.JSONPointer), "unknown field %s; ", quote(name))
	allowed := fieldNames(err.GoType)
	if problem.Nearest = topology.Nearest(name, allowed); problem.Nearest != "" {
		problem.Detail += "did you mean " + quote(problem.Nearest) + "?"
	} else {
		problem.Detail += "allowed here: " + strings.Join(allowed, ", ")
	}
	return problem
}

// fieldNames lists the JSON names of a struct in their order of declaration.
func fieldNames(structType reflect.Type) []string {
	names := make([]string, 0, structType.NumField())
	for i := range structType.NumField() {
		name, _, _ := strings.Cut(structType.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
