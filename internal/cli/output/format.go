package output

import "io"

// The formats of --output.
const (
	Text  = "text"
	JSON  = "json"
	YAML  = "yaml"
	JUnit = "junit"
)

// Format writes all results of one run.
type Format interface {
	Write(w io.Writer, results []Result) error
}

// New returns a format by its name. The command line admits no others than the four.
func New(name string, style Style) Format {
	switch name {
	case JSON:
		return jsonFormat{}
	case YAML:
		return yamlFormat{}
	case JUnit:
		return junitFormat{}
	default:
		return textFormat{style}
	}
}
