package config_test

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/config"
)

var update = flag.Bool("update", false, "rewrite the reference of the configuration")

const reference = "../../docs/configuration.md"

// The reference is made of the struct, so that a key that nobody documented is a failure.
func TestReferenceIsUpToDate(t *testing.T) {
	want := referenceOf(t)
	if *update {
		require.NoError(t, os.WriteFile(reference, []byte(want), 0o644))
	}
	got, err := os.ReadFile(reference)
	require.NoError(t, err)
	assert.Equal(t, want, string(got), "run: go test ./internal/config -run Reference -update")
}

// The example in the reference is a configuration that works.
func TestExampleOfTheReference(t *testing.T) {
	text, err := os.ReadFile(reference)
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	s, err := config.Parse("example", []byte(example))
	require.NoError(t, err)
	s.SetDefaults()
	assert.NoError(t, s.Validate())
}

func referenceOf(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(preface)
	var defaults config.Serve
	defaults.SetDefaults()
	fields := map[string][]reflect.StructField{}
	var groups []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[config.Serve]()) {
		group := field.Tag.Get("group")
		if fields[group] == nil {
			groups = append(groups, group)
		}
		fields[group] = append(fields[group], field)
	}
	for _, group := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n| key | type | default | |\n|---|---|---|---|\n", group)
		for _, field := range fields[group] {
			shown := "none"
			if value := reflect.ValueOf(defaults).FieldByIndex(field.Index); !value.IsZero() {
				shown = "`" + strings.Trim(fmt.Sprint(value.Interface()), "[]") + "`"
			}
			help, _, _ := strings.Cut(field.Tag.Get("help"), " Default ")
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", field.Tag.Get("yaml"), kindOf(t, field), shown, help)
		}
	}
	return b.String()
}

// kindOf is how a value of a field is written.
func kindOf(t *testing.T, field reflect.StructField) string {
	t.Helper()
	placeholder := strings.ToLower(field.Tag.Get("placeholder"))
	switch field.Type {
	case reflect.TypeFor[string]():
		return placeholder
	case reflect.TypeFor[[]string]():
		return "list of " + placeholder
	case reflect.TypeFor[bool]():
		return "bool"
	case reflect.TypeFor[int](), reflect.TypeFor[float64]():
		return "number"
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[config.Bytes]():
		return "size"
	}
	require.Fail(t, "a type that the reference has no word for", field.Type)
	return ""
}

const preface = `# Configuration of ` + "`tiergate serve`" + `

This page is made of the settings themselves; a test fails when they differ.

Every setting has one name in three forms: ` + "`max_body`" + ` in the file of ` + "`--config FILE`" + `, ` + "`--max-body`" + ` as a flag, and
` + "`TIERGATE_MAX_BODY`" + ` as a variable. Flags win over variables, and these over the file. A key that is unknown, given twice or of the
wrong kind is an error that names the line and the nearest key; all mistakes are told at once.

Durations are written 500ms, 5s, 1m30s; sizes in bytes or with KiB, MiB, GiB; lists as YAML lists, or flags that are repeated.
Files named here that hold certificates, tokens, policies or rules of access are looked at while the service runs, by content;
everything else needs a restart. ` + "`GET /v1/config`" + ` shows what is in force, without secrets, to administrators and at the diagnostic
address.

A service for a cluster:

` + "```yaml" + `
addr: [0.0.0.0:8642]
diagnostic_addr: 0.0.0.0:8644
webhook_addr: 0.0.0.0:8643
tls_cert: /etc/tiergate/tls/tls.crt
tls_key: /etc/tiergate/tls/tls.key
access: /etc/tiergate/access.yaml
policy: [/etc/tiergate/policy, "https://bundles.example/kv-tiering.tar.gz"]
policy_state: /var/lib/tiergate
verification_key: /etc/tiergate/policy.pem
nats: tls://nats-0.nats:4222,tls://nats-1.nats:4222,tls://nats-2.nats:4222
nats_creds: /etc/tiergate/nats.creds
decision_log: https://logs.example/v1/logs
drain_delay: 5s
shutdown_timeout: 20s
` + "```" + `
`
