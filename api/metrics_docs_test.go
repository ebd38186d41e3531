package api

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/access"
	"github.com/tiergate/tiergate/internal/certs"
	"github.com/tiergate/tiergate/internal/certs/certstest"
	"github.com/tiergate/tiergate/internal/decisionlog"
	"github.com/tiergate/tiergate/internal/rollout"
	"github.com/tiergate/tiergate/policy"
)

const metricsIntroduction = `# Metrics

This page is made of the metrics of a service that has everything turned on; a test fails when they differ. Beside these are those
of the Go runtime (` + "`go_*`" + `) and of the process (` + "`process_*`" + `). Metrics of the decision log, of the shadow, of TLS and of access are there
only where these are configured. Every label has a bounded set of values: routes, codes, outcomes, stages, and the ids of checks.

`

var describedMetric = regexp.MustCompile(`^Desc\{fqName: "(\w+)", help: "(.*)", unit: "[^"]*", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// TestMetricsAreDocumented makes docs/metrics.md of what is registered.
func TestMetricsAreDocumented(t *testing.T) {
	s := everything(t)
	descriptions := make(chan *prometheus.Desc, 1000)
	s.registry.Describe(descriptions)
	close(descriptions)
	labels, help := map[string][]string{}, map[string]string{}
	for d := range descriptions {
		parts := describedMetric.FindStringSubmatch(d.String())
		require.NotNil(t, parts, d.String())
		name := parts[1]
		if !strings.HasPrefix(name, "tiergate_") {
			continue
		}
		help[name] = strings.ReplaceAll(parts[2], `\"`, `"`)
		for _, list := range parts[3:] {
			for label := range strings.SplitSeq(list, ",") {
				label, _, _ = strings.Cut(label, "=")
				if label != "" && !slices.Contains(labels[name], label) {
					labels[name] = append(labels[name], label)
				}
			}
		}
	}
	var b strings.Builder
	b.WriteString(metricsIntroduction + "| name | type | labels | meaning |\n|---|---|---|---|\n")
	kinds := kindsOf(t, s.registry)
	for _, name := range sortedNames(help) {
		list := strings.Join(labels[name], "`, `")
		if list != "" {
			list = "`" + list + "`"
		}
		kind := kindByName(name)
		if kinds[name] != "" { // labelled ones have no values before something happens
			assert.Equal(t, kinds[name], kind, "the name of %s promises another type", name)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, kind, list, help[name])
	}
	const page = "../docs/metrics.md"
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, b.String(), string(got), "-update rewrites it")
}

// kindsOf are the types of those that have values.
func kindsOf(t *testing.T, registry *prometheus.Registry) map[string]string {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	kinds := map[string]string{}
	for _, f := range families {
		kinds[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	return kinds
}

// kindByName goes by Prometheus's conventions, since descriptions do not tell types.
func kindByName(name string) string {
	switch {
	case strings.HasSuffix(name, "_total"):
		return "counter"
	case strings.HasSuffix(name, "_seconds") && !strings.HasSuffix(name, "_timestamp_seconds"):
		return "histogram"
	}
	return "gauge"
}

func sortedNames(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// everything is a server with all that it can have.
func everything(t *testing.T) *Server {
	t.Helper()
	dir := t.TempDir()
	certstest.New(t).Files(dir, certstest.Loopback)
	rules := filepath.Join(dir, "access.yaml")
	require.NoError(t, os.WriteFile(rules, []byte("certificates: [{subject: a, tenant: a, roles: [reader]}]\n"), 0o600))
	opts := options(shipped(), nil)
	opts.Config.Access = rules
	var err error
	opts.TLS, err = certs.Open(certs.Options{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")})
	require.NoError(t, err)
	opts.Access, err = access.Open(t.Context(), access.Options{File: rules})
	require.NoError(t, err)
	opts.Policies, err = rollout.Open(t.Context(), rollout.Options{Policy: policy.Options{Now: now}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, opts.Policies.Close(t.Context())) })
	opts.Decisions, err = decisionlog.Open(decisionlog.Options{Sink: decisionlog.Discard{}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, opts.Decisions.Close(t.Context())) })
	opts.Shadow = shipped()
	s, err := New(opts)
	require.NoError(t, err)
	return s
}
