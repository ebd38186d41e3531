// Package rego holds the rules that ship with Tiergate, embedded: one check per file under checks, shared helpers under
// lib, verdict.rego that folds the checks into one answer, and the JSON Schema of what rules see under schemas. It must
// not contain Go logic; package policy compiles and runs the rules.
package rego

import "embed"

// FS is the tree of rules and schemas. Files ending in _test.rego are tests.
//
//go:embed verdict.rego checks lib schemas
var FS embed.FS
