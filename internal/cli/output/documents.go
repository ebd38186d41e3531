package output

import "io"

// WriteDocuments writes documents for programs as JSON or YAML: one as it is, several as a list.
func WriteDocuments(w io.Writer, format string, docs []any) error {
	if format == YAML {
		return writeYAML(w, docs)
	}
	return writeJSON(w, docs)
}

func oneOrAll(docs []any) any {
	if len(docs) == 1 {
		return docs[0]
	}
	return docs
}
