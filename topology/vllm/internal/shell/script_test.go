package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// environ is the environment of the scripts in the tables.
var environ = map[string]string{
	"TWO": "2", "EIGHT": "8", "WORDS": "a b  c", "EMPTY": "", "STAR": "*", "ROLE": "leader", "NEG": "-3", "OCTAL": "08",
}

// known are scripts whose every argument can be told; a real shell gives the same.
var known = map[string]struct{ script, want string }{
	"plain":                    {"engine a b", "engine|a|b"},
	"quotes":                   {`engine 'a b' "c d" e\ f "g\"h\$" 'i"j'`, `engine|a b|c d|e f|g"h$|i"j`},
	"dollar quotes":            {`engine $'a\tb'`, "engine|a\tb"},
	"empty arguments":          {`engine "" '' $EMPTY "$EMPTY"`, "engine|||"},
	"continued lines":          {"engine \\\n  a \\\n  --b=c", "engine|a|--b=c"},
	"comments":                 {"# first\nengine a # rest\n", "engine|a"},
	"variables":                {`engine $TWO ${EIGHT}x "$WORDS"`, "engine|2|8x|a b  c"},
	"split variables":          {"engine $WORDS x", "engine|a|b|c|x"},
	"variables joined to text": {"engine x$WORDS", "engine|xa|b|c"},
	"assignments":              {"A=1 B=$TWO; C=$A-$B; engine $C", "engine|1-2"},
	"appended text":            {"A=1; A+=2; engine $A", "engine|12"},
	"defaults": {"engine ${NONE:-x} ${NONE-y} ${EMPTY:-z} ${EMPTY-w}v " +
		"${TWO:-q}", "engine|x|y|z|v|2"},
	"nested defaults":            {`engine "${NONE:-${NONE2:-$TWO}}"`, "engine|2"},
	"assigned defaults":          {"engine ${NEW:=7} $NEW", "engine|7|7"},
	"alternatives":               {"engine ${TWO:+x} ${EMPTY:+y} ${EMPTY+z}", "engine|x|z"},
	"a value that must be there": {"engine ${TWO:?missing}", "engine|2"},
	"arithmetic": {"engine $((TWO * EIGHT)) $(( (${TWO} + 1) % 2 )) $((-NEG)) $((TWO > 1 ? 5 : " +
		"6))", "engine|16|1|3|5"},
	"arithmetic with a default": {"FIRST=$((${NONE:-0} * EIGHT)); engine $FIRST", "engine|0"},
	"lists":                     {`A=(x "y z"); A+=(w); engine "${A[@]}" "${A[*]}"`, "engine|x|y z|w|x y z w"},
	"an empty list":             {`A=(); engine "${A[@]}" x`, "engine|x"},
	"braces":                    {"engine {a,b}c", "engine|ac|bc"},
	"JSON in braces":            {`engine {"a":1}`, "engine|{a:1}"},
	"exported":                  {"export A=1 B; engine $A", "engine|1"},
	"a local of a function":     {"f() { local A=2; B=$A; }; A=1; f; engine $A $B", "engine|1|2"},
	"a function":                {`run() { engine "$1" "$#" "$@"; }; run a 'b c'; exit`, "engine|a|2|a|b c"},
	"a function that returns":   {"f() { A=1; return; A=2; }; f; engine $A", "engine|1"},
	"parameters":                {`set -- a "b c"; shift; engine "$@" $#`, "engine|b c|1"},
	"a list of commands":        {"cd / && A=1 && engine $A", "engine|1"},
	"the first that succeeds":   {"false || A=1; true || A=2; engine $A", "engine|1"},
	"both that succeed":         {"false && A=1; true && B=2; engine ${A:-none} $B", "engine|none|2"},
	"negation":                  {"! false && A=1; engine $A", "engine|1"},
	"if":                        {`if [ "$ROLE" = leader ]; then engine l; else engine w; fi`, "engine|l"},
	"elif": {`if [ $TWO -gt 2 ]; then engine a; elif [ -z "$EMPTY" ]; then engine b; else ` +
		`engine c; fi`, "engine|b"},
	"else": {`if test -n "$EMPTY" ; then engine a; else engine c; fi`, "engine|c"},
	"double brackets": {`if [[ $ROLE == leader && ( $TWO -le 2 || -z $ROLE ) && ! -n "$EMPTY" ]]; then ` +
		`engine a; fi`, "engine|a"},
	"arithmetic as a condition": {"if (( TWO > 1 )); then engine a; else engine b; fi", "engine|a"},
	"case": {"case $ROLE in work*|x) engine w;; l?ad*) engine l;; *) engine o;; " +
		"esac", "engine|l"},
	"case without a match": {"case $ROLE in x) A=1;; esac; engine ${A:-0}", "engine|0"},
	"for":                  {"A=; for i in 1 2 3; do A=$A$i; done; engine $A $i", "engine|123|3"},
	"for over parameters":  {`set -- x y; for i; do A=$A$i; done 2>/dev/null; engine "${i}"`, "engine|y"},
	"break and continue": {"A=; for i in 1 2 3 4; do [ $i = 2 ] && continue; [ $i = 4 ] && break; A=$A$i; " +
		"done; engine $A", "engine|13"},
	"a subshell keeps its own":      {"A=1; (A=2); engine $A", "engine|1"},
	"a pipe keeps its own":          {"A=1; A=2 | true; engine $A", "engine|1"},
	"a block does not":              {"A=1; { A=2; }; engine $A", "engine|2"},
	"in a pipe":                     {"engine a | cat", "engine|a"},
	"in the background":             {"engine a & wait", "engine|a"},
	"exec ends the script":          {"A=1; exec engine $A; engine b", "engine|1"},
	"exit ends it too":              {"engine a; exit 0; engine b", "engine|a"},
	"exec of files does not":        {"exec 2>/dev/null; engine a", "engine|a"},
	"eval":                          {`A="engine x \$TWO"; eval "$A" y`, "engine|x|2|y"},
	"a shell sees what is exported": {`A=1; export B=2; sh -c 'engine "${A:-none}" $B'`, "engine|none|2"},
	"here documents":                {"cat >/dev/null <<EOF\nengine no\nEOF\nengine yes", "engine|yes"},
	"a glob in quotes":              {`engine "$STAR" '*' \*`, "engine|*|*|*"},
	"numeric tests": {
		`[ 2 -eq 2 ] && A=1; [ 2 -ne 2 ] || B=1; [ 1 -lt 2 ] && C=1; [ 2 -le 2 ] && D=1;
		[ 2 -ge 3 ] || E=1; [ 3 -gt 2 ] && F=1; [ a != b ] && G=1; [ ! a = b ] && H=1; engine $A$B$C$D$E$F$G$H`,
		"engine|11111111",
	},
	"tests of text": {`[ x ] && A=1; [ ] || B=1; test "" || C=1; [ -z "" ] && D=1; engine $A$B$C$D`, "engine|1111"},
	"tests in double brackets": {
		`[[ a == a && 2 -gt 1 || -z x ]] && A=1; [[ -n $ROLE ]] && B=1; [[ $ROLE ]] && C=1;
		[[ a != b ]] && D=1; [[ $NEG -lt 0 ]] && E=1; [[ a == b || ! ( x == x ) ]] || F=1; engine $A$B$C$D$E$F`,
		"engine|111111",
	},
	"arithmetic commands": {`((TWO == 3)) || A=1; ((TWO > 1 && EIGHT < 9)) && B=1; ((!TWO)) || C=1; engine ` +
		`$A$B$C`, "engine|111"},
	"parameters without dashes": {`set a b; engine "$@"`, "engine|a|b"},
	"options of the shell":      {`set -eu -o pipefail; set +u; set -e -- x; engine "$1"`, "engine|x"},
	"shifting":                  {`set -- a b c d; shift 2; shift 9 || A=1; engine "$1" $A "${9}"`, "engine|c|1|"},
	"a list after text":         {`A=x; A+=(y); engine "${A[@]}"`, "engine|x|y"},
	"a loop over words":         {`A=; for i in $WORDS "x y"; do A="$A-$i"; done; engine "$A"`, "engine|-a-b-c-x y"},
	"a return from a loop":      {`f() { for i in 1 2; do A=$i; return; done; A=9; }; f; engine $A`, "engine|1"},
	"a loop in a loop": {`A=; for i in 1 2; do for j in 1 2; do [ $j = 2 ] && break; A=$A$i$j; done; done; ` +
		`engine $A`, "engine|1121"},
	"a local in a loop": {`f() { for i in 1; do local A=$i; local A=3; done; B=$A; }; f; engine ${A:-none} ` +
		`$B`, "engine|none|3"},
	"quoted patterns":        {`case "a*" in a\*) engine e;; *) engine o;; esac`, "engine|e"},
	"unset":                  {"unset TWO; engine ${TWO:-none}", "engine|none"},
	"time":                   {"time engine a", "engine|a"},
	"an unended loop":        {"while true; do engine a; exit; done; engine b", "engine|a"},
	"a loop that never runs": {"until true; do engine a; done; engine b", "engine|b"},
}

func TestScriptsGiveTheirArguments(t *testing.T) {
	for name, tt := range known {
		t.Run(name, func(t *testing.T) {
			got, _ := follow(t, []string{"bash", "-c", tt.script}, environ)
			assert.Equal(t, tt.want, got)
		})
	}
}

// TestShellAgrees runs the same scripts with a real shell, where there is one. The engine is a program that prints
// its arguments.
func TestShellAgrees(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on this machine")
	}
	dir := t.TempDir()
	program := "#!" + bash + "\n{ printf engine; for a; do printf '|%s' \"$a\"; done; } >>" + dir + "/out\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "engine"), []byte(program), 0o755))
	env := []string{"PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")}
	for name, value := range environ {
		env = append(env, name+"="+value)
	}
	for name, tt := range known {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "out"), nil, 0o644))
			cmd := exec.Command(bash, "-c", tt.script)
			cmd.Env, cmd.Dir = env, dir
			require.NoError(t, cmd.Run())
			got, err := os.ReadFile(filepath.Join(dir, "out"))
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
		})
	}
}

func TestWhatIsNotKnownStaysUnknown(t *testing.T) {
	for name, tt := range map[string]struct{ script, want string }{
		"a command":                  {`engine "$(nproc)" x$(nproc)y`, "engine|<$(nproc)>|x«$(nproc)»y"},
		"backquotes":                 {"engine `nproc`", "engine|«$(nproc)»"},
		"a process":                  {"engine <(cat x)", "engine|«<(cat x)»"},
		"a variable that is not set": {`engine $NONE "$NONE"`, "engine|«$NONE»|<$NONE>"},
		"one that must be set":       {`engine "${NONE:?}"`, "engine|<${NONE:?}>"},
		"one that is set later": {`engine $LATER "$LATER" ${LATER:-5} ` +
			`"${LATER:+x}"`, "engine|«$LATER»|<$LATER>|«${LATER:-5}»|<${LATER:+x}>"},
		"what the shell sets": {`engine "$RANDOM" "${HOSTNAME:-x}" ` +
			`"$$$$"`, "engine|<$RANDOM>|<${HOSTNAME:-x}>|<$$>"},
		"a file name pattern":     {"engine a*b x", "engine|a*b«a*b»|x"},
		"a pattern in a variable": {"engine $STAR", "engine|«$STAR»"},
		"a home directory":        {"engine ~/x ~root", "engine|<~/x>|<~root>"},
		"a computed part": {`engine "${ROLE##*-}" "${#ROLE}" "${ROLE:1:2}" ` +
			`"${!ROLE}"`, "engine|<${ROLE##*-}>|<${#ROLE}>|<${ROLE:1:2}>|<${!ROLE}>"},
		"a separator":             {`IFS=,; A=a,b; engine $A "$A"`, "engine|«$A»|a,b"},
		"arithmetic on nothing":   {`engine "$((NONE * 2))"`, "engine|<$((NONE * 2))>"},
		"arithmetic on something": {`engine "$((LATER * 2))"`, "engine|<$((LATER * 2))>"},
		"arithmetic on text": {`engine "$((ROLE + 1))" "$((OCTAL + 1))"`, "engine|<$((ROLE + 1))>|<$((OCTAL " +
			"+ 1))>"},
		"division by zero":            {`engine "$((TWO / 0))"`, "engine|<$((TWO / 0))>"},
		"arithmetic that assigns":     {`engine "$((TWO++))"`, "engine|<$((TWO++))>"},
		"an assigned command":         {`A=$(nproc); B=x$A; engine "$B" $B`, "engine|x<$(nproc)>|«$B»"},
		"a list with a command":       {`A=(x $(nproc)); engine "${A[@]}" z`, "engine|x|«$(nproc)»|z"},
		"a list with an unknown size": {`set -- $NONE b; engine "$2" "$#"`, "engine|«$NONE»|«$NONE»"},
		"an undecided branch":         {`if [ -f /x ]; then A=1; else A=2; fi; engine "$A"`, "engine|<$A>"},
		"one that changes nothing":    {`A=1; if [ -f /x ]; then A=1; fi; engine "$A"`, "engine|1"},
		"an undecided test":           {`[ "$NONE" = x ] && TWO=3; engine "$TWO"`, "engine|<$TWO>"},
		"an undecided pattern":        {`case $LATER in a) A=1;; *) A=2;; esac; engine "$A"`, "engine|<$A>"},
		"a command that may fail":     {`A=1; ls && A=2; engine "$A"`, "engine|<$A>"},
		"the way on which it did not": {`A=1; ls && A=2 && engine "$A"`, "engine|2"},
		"a loop":                      {`A=1; while ls; do A=$((A + 1)); done; engine "$A"`, "engine|<$A>"},
		"inside a loop":               {`A=1; while ls; do engine "$A"; A=2; done`, "engine|<$A>"},
		"a loop that names itself":    {`for i in $(seq 3); do engine "$i"; done`, "engine|<$i>"},
		"counting":                    {`for ((i = 0; i < 2; i++)); do engine "$i"; done`, "engine|<$i>"},
		"read":                        {`read -r A B; engine "$A$B"`, "engine|<$A><$B>"},
		"printf":                      {`printf -v A %s x; engine "$A"`, "engine|<$A>"},
		"let":                         {`let A=1; engine "$A"`, "engine|<$A>"},
		"a sourced file": {`. /etc/x.sh; A=1; engine "$TWO" "$A" "${NONE:-3}"`, "engine|<a " +
			"variable>|1|<${NONE:-3}>"},
		"an activated environment":  {`source /opt/venv/bin/activate; engine "$TWO"`, "engine|2"},
		"variables of a file":       {`export $(cat .env); engine "$TWO"`, "engine|<a variable>"},
		"an evaluated text":         {`eval "engine $NONE -b"`, "engine|«$NONE»|-b"},
		"variables of a command":    {`eval "$(hook)"; engine "$TWO"`, "engine|<a variable>"},
		"a function's status":       {`f() { return 1; }; A=1; f && A=2; engine "$A"`, "engine|<$A>"},
		"an unknown list":           {`set -- $NONE b; shift; engine "$@" "$1"`, "engine|«$@»|«$@»"},
		"a list of an unknown size": {`for i in $NONE b; do engine "$i"; done`, "engine|<$i>"},
		"an unknown pattern":        {`case x in $NONE) A=1;; esac; engine "${A:-0}"`, "engine|<${A:-0}>"},
		"a pattern of nothing":      {`case x in [z-a]) A=1;; esac; engine "${A:-0}"`, "engine|<${A:-0}>"},
		"a test without quotes":     {`[ -n $NONE ] && A=1; engine "${A:-0}"`, "engine|<${A:-0}>"},
		"a test on files": {`[ -d / ] && A=1; [[ -d / ]] && B=1; engine "${A:-0}" ` +
			`"${B:-0}"`, "engine|<${A:-0}>|<${B:-0}>"},
		"a long test":          {`[ a = a -a b = b ] && A=1; engine "${A:-0}"`, "engine|<${A:-0}>"},
		"a test of no numbers": {`[ a -lt b ] && A=1; engine "${A:-0}"`, "engine|<${A:-0}>"},
		"an odd test":          {`[ a = a && A=1; engine "${A:-0}"`, "engine|<${A:-0}>"},
		"a pattern in brackets": {`[[ $ROLE == l* ]] && A=1; [[ $ROLE =~ x ]] && B=1; engine "${A:-0}" ` +
			`"${B:-0}"`, "engine|<${A:-0}>|<${B:-0}>"},
		"an unknown in brackets": {`[[ $NONE == x || $ROLE == x ]] && A=1; engine "${A:-0}"`, "engine|<${A:-0}>"},
		"a counter":              {`((TWO += 1)); engine "$TWO"`, "engine|<$TWO>"},
		"a list of lists":        {`A=([3]=x); B=(y); B+=z; engine "$A" "$B"`, "engine|<$A>|<$B>"},
		"a pattern in a list":    {`A=("*" x); engine ${A[@]} "${A[@]}"`, "engine|«${A[@]}»|*|x"},
		"a function in a loop":   {`f() { TWO=3; }; while ls; do f; done; engine "$TWO"`, "engine|<a variable>"},
		"names of a loop": {`while read -r A; do B=${C:=1}; : $((TWO++)); done; engine ` +
			`"$A$B$C$TWO"`, "engine|<$A><$B><$C><$TWO>"},
		"integer attributes":    {`declare -i A=1+1; engine "$A"`, "engine|<$A>"},
		"one element of a list": {`A[2]=x; engine "${A[2]}" "$A"`, "engine|<${A[2]}>|<$A>"},
		"two functions of one name": {`if ls; then f() { A=1; }; else f() { A=2; }; fi; f; engine ` +
			`"$A"`, "engine|<$A>"},
		"too long a value": {`A=xxxxxxxx; ` + strings.Repeat(`A="$A$A";`, 15) + ` engine ` +
			`"$A"`, "engine|<$A>"},
		"too many braces": {"engine " + strings.Repeat("{a,b}", 20) + " x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := follow(t, []string{"bash", "-c", tt.script}, environ, "LATER")
			if tt.want == "" {
				assert.True(t, strings.HasSuffix(got, "»|x"), got[max(0, len(got)-100):])
				return
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestUnknownTextHasAReason(t *testing.T) {
	for script, want := range map[string]string{
		`engine "$(nproc)"`: "$(nproc) is a command substitution, and nothing is executed to " +
			"learn its output",
		`engine "$NONE"`:  "$NONE is not set in the container's env",
		`engine "$LATER"`: "$LATER is set only when the container starts",
		`engine "$((NONE * 2))"`: "$((NONE * 2)) cannot be computed: $NONE is not set in the " +
			"container's env",
		`engine "$((ROLE))"`: `$((ROLE)) cannot be computed: "leader" is not a whole number`,
		`engine a*`:          "a* matches file names, which are not looked up; quote it",
		`if [ -f /x ]; then A=1; fi; engine "$A"`: "$A depends on [ -f /x ], which is decided only when the script " +
			"runs",
		`while ls; do A=1; done; engine "$A"`: "$A is changed in a loop",
		`. ./x.sh; engine "$TWO"`:             "a variable may be set by ./x.sh, which is sourced but not read",
		`engine "${ROLE%e*}"`:                 "${ROLE%e*} is an expansion that is not worked out",
		"engine ~/x":                          "~/x is a home directory, which is not looked up",
		`for i in 1 2; do ls && break; A=$i; done; engine "$A"`: "$A depends on where a loop or function ends, which " +
			"is decided only when the script runs",
	} {
		t.Run(script, func(t *testing.T) {
			u := &Unknowns{}
			found, _, err := Follow([]string{"bash", "-c", script}, &Env{
				Known: environ, Later: []string{"LATER"},
				Unknowns: u,
			}, wantEngine)
			require.NoError(t, err)
			require.Len(t, found, 1)
			assert.Equal(t, want, u.Reason(found[0].Args[1]))
		})
	}
}

func TestEveryWayIsFollowed(t *testing.T) {
	for name, tt := range map[string]struct{ script, want string }{
		"both branches":       {"if [ -f /x ]; then engine a; else engine b; fi", "engine|a\nengine|b"},
		"every case":          {"case $NONE in a) engine a;; b) engine b;; esac", "engine|a\nengine|b"},
		"a case that goes on": {"case leader in l*) engine a;& x) engine b;; esac", "engine|a\nengine|b"},
		"both sides":          {"ls && engine a || engine b", "engine|a\nengine|b"},
		"one after the other": {"engine a & engine b; wait", "engine|a\nengine|b"},
		"each round":          {"for i in a b; do engine $i & done", "engine|a\nengine|b"},
		"unless it stops":     {"[ -f /x ] || exit 1; engine a", "engine|a"},
		"until it stops":      {"[ -f /x ] || { engine a; exit 1; }; engine b", "engine|a\nengine|b"},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := follow(t, []string{"bash", "-c", tt.script}, environ)
			assert.Equal(t, tt.want, got)
		})
	}
}
