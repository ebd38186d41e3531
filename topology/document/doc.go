// Package document decodes launch documents, and what workers send, from JSON and YAML, strictly: a name that is not known,
// a key given twice, a value of the wrong type and bytes that are not UTF-8 are errors with their position. YAML is
// rewritten as JSON text first, so that one decoder decides what is accepted. The package owns syntax and shape; it must
// not judge what a launch means, and it reads nothing but the bytes that it is given.
package document
