package output

import (
	"encoding/json"
	"fmt"
	"io"
)

type jsonFormat struct{}

func (jsonFormat) Write(w io.Writer, results []Result) error {
	return writeJSON(w, documents(results))
}

// writeJSON writes one document as it is and several as an array.
func writeJSON(w io.Writer, docs []any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(oneOrAll(docs)); err != nil {
		return fmt.Errorf("write json: %w", err)
	}
	return nil
}
