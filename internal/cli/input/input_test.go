package input

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	launchYAML = "engine: {parallel: {tensor: 2}}\n"
	launchJSON = `{"engine": {"parallel": {"tensor": 2}}}`
	podYAML    = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n" +
		"  - {name: c, command: [vllm, serve, m]}\n  - {name: d, command: [vllm, serve, n]}\n"
	podJSON = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [` +
		`{"name": "c", "command": ["vllm", "serve", "m"]}]}}`
)

// TestParse tells the kinds of files apart. What is wanted is the sources, or the error behind a source.
func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		source, text string
		want         []string
	}{
		"yaml launch":            {"f.yaml", launchYAML, []string{"f.yaml"}},
		"json launch":            {"f.json", launchJSON, []string{"f.json"}},
		"json in a yaml file":    {"f.yml", launchJSON, []string{"f.yml"}},
		"json without an ending": {"-", " \n" + launchJSON, []string{"-"}},
		"yaml without an ending": {"-", launchYAML, []string{"-"}},
		"flow yaml":              {"-", "{engine: {parallel: {tensor: 2}}}", []string{"-"}},
		"several launches":       {"f.yaml", launchYAML + "---\n" + launchYAML, []string{"f.yaml#1", "f.yaml#2"}},
		"marked launch":          {"f.yaml", "---\n" + launchYAML, []string{"f.yaml"}},
		"manifest":               {"f.yaml", podYAML, []string{"f.yaml#Pod/p/c", "f.yaml#Pod/p/d"}},
		"json manifest":          {"f.json", podJSON, []string{"f.json#Pod/p/c"}},
		"objects around":         {"f.yaml", "apiVersion: v1\nkind: Service\n---\n" + podYAML, []string{"f.yaml#Pod/p/c", "f.yaml#Pod/p/d"}},

		"empty":             {"f.yaml", " \n", []string{"f.yaml: the file is empty, so there is nothing to judge"}},
		"comments":          {"f.yaml", "# one\n---\n# two\n", []string{"f.yaml: the file is empty, so there is nothing to judge"}},
		"mixed":             {"f.yaml", launchYAML + "---\n" + podYAML, []string{"f.yaml: the file holds launches and Kubernetes objects; put them into files of their own"}},
		"no json":           {"f.json", launchYAML, []string{"f.json: not valid JSON"}},
		"line of the file":  {"f.yaml", launchYAML + "---\nengine:\n  nodes: 2\n", []string{"f.yaml#1", `f.yaml#2: line 4: /engine/nodes: unknown field "nodes"`}},
		"other documents":   {"f.yaml", "a: 1\n", []string{`f.yaml: line 1: /a: unknown field "a"`}},
		"a kind and no api": {"f.yaml", "kind: Pod\nengine: {}\n", []string{"f.yaml: no container starts a vLLM engine"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, in := range parse(c.source, []byte(c.text)) {
				assert.NotEqual(t, in.Launch == nil, in.Err == nil)
				if in.Err != nil {
					got = append(got, in.Source+": "+in.Err.Error())
				} else {
					got = append(got, in.Source)
				}
			}
			require.Len(t, got, len(c.want))
			for i, want := range c.want {
				assert.Truef(t, got[i] == want || strings.Contains(want, ": ") && strings.HasPrefix(got[i], want), "got %q, want %q", got[i], want)
			}
		})
	}
}

func TestFilesKeepTheirOrder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f.yaml")
	require.NoError(t, os.WriteFile(file, []byte(launchYAML), 0o600))
	missing := filepath.Join(dir, "missing.yaml")
	got := Files([]string{missing, "-", file, dir}, strings.NewReader(launchJSON))
	require.Len(t, got, 4)
	assert.Equal(t, Input{Source: missing, Err: &Error{CodeUnreadable, "open: no such file or directory"}}, got[0])
	assert.Equal(t, "-", got[1].Source)
	assert.NoError(t, got[1].Err)
	assert.Equal(t, file, got[2].Source)
	assert.NoError(t, got[2].Err)
	assert.EqualError(t, got[3].Err, "this is a directory; name its files, for example with a pattern such as dir/*.yaml")
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("pipe broke") }

// endless is a standard input without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestStandardInputThatFails(t *testing.T) {
	assert.EqualError(t, Files([]string{"-"}, failing{})[0].Err, "pipe broke")
	assert.EqualError(t, Files([]string{"-"}, endless{})[0].Err, "the file is larger than the 64 MiB that are read")
}

func TestLineOf(t *testing.T) {
	const text = "engine: {parallel: {tensor: 2}}\n---\nengine: {parallel: {tensor: 2}}\nnodes:\n- id: a\n- id: b\n"
	got := parse("f.yaml", []byte(text))
	require.Len(t, got, 2)
	assert.Equal(t, 6, got[1].LineOf("/nodes/1/id"))
	assert.Equal(t, 0, new(Input).LineOf("/nodes/1/id"))
}

func TestCommand(t *testing.T) {
	env := []string{"TP=2", "PATH=/bin", "VLLM_PORT=1", "VLLM_API_KEY=secret", "TOKEN=secret", "EMPTY", "PP=4=4"}
	in := Command([]string{"sh", "-c", "vllm serve m -tp $TP -pp ${PP:-1} $((EMPTY)) $TOKEN"}, env)
	assert.Equal(t, "sh -c vllm serve m -tp $TP -pp ${PP:-1} $((EMPTY)) $TOKEN", in.Source)
	assert.Equal(t, map[string]string{"TP": "2", "PP": "4=4", "VLLM_PORT": "1", "EMPTY": ""}, in.Launch.Engine.Env)

	assert.Equal(t, "vllm serve model-x", Command([]string{"vllm", "serve", "model-x", "-tp", "2"}, nil).Source)
	long := Command([]string{"sh", "-c", strings.Repeat("é", 100)}, nil).Source
	assert.Equal(t, "sh -c "+strings.Repeat("é", 27)+"...", long)
}

// What is read is a launch or an error, whatever the bytes.
func FuzzParse(f *testing.F) {
	for _, text := range []string{launchYAML, launchJSON, podYAML, podJSON, launchYAML + "---\n" + podYAML, "{", "---", "a: *a", ""} {
		f.Add("-", []byte(text))
	}
	f.Fuzz(func(t *testing.T, source string, data []byte) {
		inputs := parse(source, data)
		if len(inputs) == 0 {
			t.Fatal("nothing to judge, and no error")
		}
		for _, in := range inputs {
			if (in.Launch == nil) == (in.Err == nil) {
				t.Fatalf("launch %v and error %v", in.Launch, in.Err)
			}
		}
	})
}
