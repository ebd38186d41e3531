package shell

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wantEngine recognizes a program named engine, and knows another one named server.
func wantEngine(args []string) Answer {
	switch name := args[0][strings.LastIndexByte(args[0], '/')+1:]; name {
	case "engine":
		return Wanted
	case "server":
		return Unwanted
	}
	return Nothing
}

// follow gives the programs found, one a line. Unknown text is shown as the source spells it, in <> where it is one
// text and in «» where it may be any number of arguments.
func follow(t testing.TB, command []string, env map[string]string, later ...string) (string, []string) {
	t.Helper()
	u := &Unknowns{}
	found, others, err := Follow(command, &Env{Known: env, Later: later, Unknowns: u}, wantEngine)
	require.NoError(t, err)
	lines := make([]string, len(found))
	for i, p := range found {
		for j, arg := range p.Args {
			p.Args[j] = show(u, arg)
		}
		lines[i] = strings.Join(p.Args, "|")
	}
	return strings.Join(lines, "\n"), others
}

func show(u *Unknowns, text string) string {
	var out strings.Builder
	for _, r := range text {
		switch {
		case !isMark(r):
			out.WriteRune(r)
		case r&1 == 1:
			out.WriteString("«" + u.Reveal(string(r)) + "»")
		default:
			out.WriteString("<" + u.Reveal(string(r)) + ">")
		}
	}
	return out.String()
}

func TestFollowFindsTheProgram(t *testing.T) {
	for name, tt := range map[string]struct {
		command []string
		want    string
	}{
		"plain":                      {[]string{"engine", "-a", "1"}, "engine|-a|1"},
		"a path":                     {[]string{"/opt/bin/engine", "x"}, "/opt/bin/engine|x"},
		"exec":                       {[]string{"exec", "engine", "x"}, "engine|x"},
		"env with variables":         {[]string{"env", "A=1", "B=/bin/sh", "engine", "x"}, "engine|x"},
		"timeout with options":       {[]string{"timeout", "-k", "5s", "5m", "engine", "x"}, "engine|x"},
		"numactl":                    {[]string{"numactl", "--cpunodebind=0", "--membind", "0", "engine"}, "engine"},
		"several wrappers":           {[]string{"tini", "--", "nohup", "nice", "-n", "5", "engine", "x"}, "engine|x"},
		"a cluster runner":           {[]string{"ray", "symmetric-run", "--address", "a", "--", "engine"}, "engine"},
		"an unknown wrapper":         {[]string{"$(WRAPPER)", "engine", "x"}, "engine|x"},
		"a shell":                    {[]string{"sh", "-c", "engine x"}, "engine|x"},
		"a login shell":              {[]string{"/bin/bash", "-l", "-c", "engine x"}, "engine|x"},
		"options in one":             {[]string{"bash", "-exc", "engine x"}, "engine|x"},
		"an option with a value":     {[]string{"bash", "-euo", "pipefail", "-c", "engine x"}, "engine|x"},
		"a value after the script's": {[]string{"bash", "-ceuo", "pipefail", "engine x"}, "engine|x"},
		"a long option":              {[]string{"bash", "--rcfile", "f", "--norc", "-c", "engine x"}, "engine|x"},
		"parameters": {[]string{"sh", "-c", `engine "$@" $0 $2`, "name", "a b", "c"}, "engine|a " +
			"b|c|name|c"},
		"a shell behind wrappers":  {[]string{"env", "A=1", "tini", "--", "sh", "-c", "engine $A"}, "engine|1"},
		"a shell in a shell":       {[]string{"sh", "-c", `exec bash -c "engine x"`}, "engine|x"},
		"an emptied environment":   {[]string{"env", "-i", "sh", "-c", "engine ${SET:-none}"}, "engine|none"},
		"a variable taken away":    {[]string{"env", "-u", "SET", "sh", "-c", "engine ${SET:-none}"}, "engine|none"},
		"the same, in one":         {[]string{"env", "--unset=SET", "sh", "-c", "engine ${SET:-none}"}, "engine|none"},
		"something else":           {[]string{"echo", "engine", "x"}, ""},
		"something else, wrapped":  {[]string{"timeout", "5m", "server", "engine", "x"}, ""},
		"a script file":            {[]string{"bash", "run.sh", "engine"}, ""},
		"a shell without a script": {[]string{"bash", "-c"}, ""},
		"a wrapper alone":          {[]string{"env"}, ""},
		"a script that is unknown": {[]string{"sh", "-c", "$(SCRIPT)"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := follow(t, tt.command, map[string]string{"SET": "set"}, "WRAPPER", "SCRIPT")
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestFollowSaysWhatElseItSaw(t *testing.T) {
	_, others := follow(t, []string{"sh", "-c", "cd /x; bash  run.sh\\\n a; $TOOL --b; true"}, nil)
	assert.Equal(t, []string{"cd /x", "bash run.sh a", "$TOOL --b"}, others)
}

func TestFollowPlacesPrograms(t *testing.T) {
	for name, tt := range map[string]struct {
		command  []string
		index    int
		scripted bool
	}{
		"plain":   {[]string{"engine"}, 0, false},
		"wrapped": {[]string{"env", "A=b", "engine"}, 2, false},
		"script":  {[]string{"env", "bash", "-l", "-c", "engine"}, 4, true},
	} {
		t.Run(name, func(t *testing.T) {
			found, _, err := Follow(tt.command, &Env{Unknowns: &Unknowns{}}, wantEngine)
			require.NoError(t, err)
			require.Len(t, found, 1)
			assert.Equal(t, tt.index, found[0].Index)
			assert.Equal(t, tt.scripted, found[0].Scripted)
		})
	}
}

func TestKubernetesReferences(t *testing.T) {
	env := map[string]string{"A": "1", "SPACE": "x y", "CMD": "engine $B", "B": "2"}
	for name, tt := range map[string]struct {
		command []string
		want    string
	}{
		"known":                     {[]string{"engine", "-a=$(A)"}, "engine|-a=1"},
		"not split without a shell": {[]string{"engine", "$(SPACE)"}, "engine|x y"},
		"not there":                 {[]string{"engine", "-a", "$(NONE)"}, "engine|-a|<$(NONE)>"},
		"set later":                 {[]string{"engine", "x$(LATER)y"}, "engine|x<$LATER>y"},
		"escaped":                   {[]string{"engine", "$$x $$$$"}, "engine|$x $$"},
		"no name":                   {[]string{"engine", "$(a b) $( $x ${A}"}, "engine|$(a b) $( $x ${A}"},
		"before the shell":          {[]string{"sh", "-c", "engine '$(A)' $(SPACE)"}, "engine|1|x|y"},
		"script text":               {[]string{"sh", "-c", "$(CMD)"}, "engine|2"},
		"later, in a script": {[]string{"sh", "-c", `engine '$(LATER)' "$(LATER)" ` +
			`$(LATER)`}, "engine|<$LATER>|<$LATER>|«$LATER»"},
		"not there, in a script": {[]string{"sh", "-c", `engine '$(NONE)' "$(NONE)"`}, "engine|$(NONE)|<$(NONE)>"},
		"escaped, in a script":   {[]string{"sh", "-c", `engine "$$(A)" $$A`}, "engine|<$(A)>|1"},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := follow(t, tt.command, env, "LATER")
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestProgramsSeeTheirEnvironment(t *testing.T) {
	for name, tt := range map[string]struct {
		command []string
		want    string
	}{
		"of the container":        {[]string{"engine"}, "one"},
		"of env":                  {[]string{"env", "V=two", "engine"}, "two"},
		"emptied":                 {[]string{"env", "-i", "engine"}, ""},
		"set for one command":     {[]string{"sh", "-c", "V=two engine"}, "two"},
		"exported by itself":      {[]string{"sh", "-c", "V=two; engine"}, "two"},
		"not for the next":        {[]string{"sh", "-c", "V=two ls; engine"}, "one"},
		"not surely for the next": {[]string{"sh", "-c", "V=two eval :; engine"}, "<$V>"},
		"exported":                {[]string{"sh", "-c", "unset V; V=two; export V; engine"}, "two"},
		"exported with a value":   {[]string{"sh", "-c", "export V=two; engine"}, "two"},
		"declared for export":     {[]string{"bash", "-c", "unset V; declare -x V=two; engine"}, "two"},
		"everything exported":     {[]string{"sh", "-c", "unset V; set -a; V=two; engine"}, "two"},
		"no longer everything":    {[]string{"sh", "-c", "unset V; set -a; set +a; V=two; engine"}, "two"},
		"taken away":              {[]string{"sh", "-c", "unset V; engine"}, ""},
		"known only at run time":  {[]string{"sh", "-c", "V=$(date) engine"}, "<$(date)>"},
	} {
		t.Run(name, func(t *testing.T) {
			u := &Unknowns{}
			found, _, err := Follow(tt.command, &Env{Known: map[string]string{"V": "one"}, Unknowns: u}, wantEngine)
			require.NoError(t, err)
			require.Len(t, found, 1)
			got, set := found[0].Lookup("V")
			assert.Equal(t, tt.want != "", set)
			assert.Equal(t, tt.want, show(u, got))
		})
	}
}
