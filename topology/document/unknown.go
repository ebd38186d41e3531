package document

import (
	"reflect"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/go-json-experiment/json"
)

// unknownField names the allowed names; one that is within a third of the letters is suggested alone.
func unknownField(err *json.SemanticError) *Error {
	name := err.JSONPointer.LastToken()
	problem := errorf(CodeUnknownField, string(err.JSONPointer), "unknown field %s; ", quote(name))
	allowed := fieldNames(err.GoType)
	if problem.Nearest = nearest(name, allowed); problem.Nearest != "" {
		problem.Detail += "did you mean " + quote(problem.Nearest) + "?"
	} else {
		problem.Detail += "allowed here: " + strings.Join(allowed, ", ")
	}
	return problem
}

// nearest compares without case and separators, so that kvTransfer and kv-transfer are near kv_transfer.
func nearest(name string, allowed []string) string {
	if len(name) > shownBytes {
		return ""
	}
	best, bestDistance := "", len(name)
	for _, candidate := range allowed {
		distance := levenshtein.ComputeDistance(letters(name), letters(candidate))
		if distance < bestDistance && distance <= 1+len(candidate)/4 {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

func letters(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
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
