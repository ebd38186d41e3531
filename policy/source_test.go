package policy

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
)

func TestSourceWithoutAFile(t *testing.T) {
	_, err := read([]Source{{Name: "site", FS: fstest.MapFS{"README.md": {}, "values.yaml": {}}}}, nil, "")
	assert.EqualError(t, err, "site: there is no rule or data file: give *.rego, data.json or data.yaml")
	for _, name := range []string{"a.rego", "a_test.rego", "sub/data.json"} {
		_, err := read([]Source{{Name: "site", FS: fstest.MapFS{name: {Data: []byte("{}")}}}}, nil, "")
		assert.NoError(t, err, name)
	}
}
