package rego_test

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/topology"
)

var update = flag.Bool("update", false, "write schemas/input.json anew")

const schemaFile = "schemas/input.json"

// TestSchema keeps the schema that rules are compiled against equal to the Go types that the facts are written from.
func TestSchema(t *testing.T) {
	docs := readDocs(t, "../topology")
	s := schemas{docs: docs, definitions: map[string]any{}}
	root := s.object(reflect.TypeFor[topology.Facts]())
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "Facts"
	root["definitions"] = s.definitions
	want, err := json.MarshalIndent(root, "", "  ")
	require.NoError(t, err)
	want = append(want, '\n')
	if *update {
		require.NoError(t, os.WriteFile(schemaFile, want, 0o644))
	}
	got, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "the facts changed: run go test ./rego -run TestSchema -update")
}

// schemas writes Go types as JSON Schemas. Structs become definitions, which rule authors find by their Go names.
type schemas struct {
	docs        docs
	definitions map[string]any
}

func (s schemas) of(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[json.RawMessage]() {
		return map[string]any{} // any JSON, whatever a user wrote
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Struct:
		if s.definitions[t.Name()] == nil {
			s.definitions[t.Name()] = s.object(t)
		}
		return map[string]any{"$ref": "#/definitions/" + t.Name()}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int64:
		return map[string]any{"type": "integer"}
	default:
		panic("no schema for " + t.String())
	}
}

func (s schemas) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := s.of(field.Type)
		describe(property, s.docs[t.Name()+"."+field.Name])
		properties[name] = property
		if options != "omitempty" {
			required = append(required, name)
		}
	}
	schema := map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	}
	describe(schema, s.docs[t.Name()])
	return schema
}

func describe(schema map[string]any, text string) {
	if text != "" {
		schema["description"] = text
	}
}

// docs holds the doc comments of types and, as Type.Field, of their fields, each on one line.
type docs map[string]string

func readDocs(t *testing.T, dir string) docs {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	found := docs{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok && decl.Tok == token.TYPE {
				found.addTypes(decl)
			}
		}
	}
	return found
}

func (d docs) addTypes(decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		spec := spec.(*ast.TypeSpec)
		structure, ok := spec.Type.(*ast.StructType)
		if !ok {
			continue
		}
		doc := spec.Doc
		if doc == nil {
			doc = decl.Doc
		}
		d[spec.Name.Name] = oneLine(doc)
		for _, field := range structure.Fields.List {
			for _, name := range field.Names {
				d[spec.Name.Name+"."+name.Name] = oneLine(field.Doc)
			}
		}
	}
}

func oneLine(comment *ast.CommentGroup) string {
	return strings.Join(strings.Fields(comment.Text()), " ")
}
