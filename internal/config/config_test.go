package config_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/config"
)

func good() config.Serve {
	return config.Serve{
		Addr:                 []string{"127.0.0.1:9000", "unix:///run/tiergate/api.sock"},
		DiagnosticAddr:       "0.0.0.0:9001",
		WebhookAddr:          "0.0.0.0:8643",
		TLSCert:              "/etc/tls/tls.crt",
		TLSKey:               "/etc/tls/tls.key",
		TLSClientCA:          "/etc/tls/ca.crt",
		Access:               "/etc/tiergate/access.yaml",
		AllowUnauthenticated: true,
		AllowPlaintext:       true,
		AdminAPI:             true,
		Policy:               []string{"/etc/tiergate/policy", "https://bundles.example/site.tar.gz"},
		PolicyPoll:           30 * time.Second,
		PolicyToken:          "/etc/tiergate/bundle-token",
		PolicyCA:             "/etc/tiergate/bundle-ca.pem",
		PolicyState:          "/var/lib/tiergate",
		PolicyLaunches:       "/etc/tiergate/launches",
		PolicyAccept:         []string{"fleet-a.yaml"},
		Data:                 "/etc/tiergate/data.yaml",
		CacheDir:             "/var/cache/tiergate",
		VerificationKey:      "/etc/tiergate/policy.pem",
		VerificationAlg:      "ES256",
		VerificationKeyID:    "prod",
		VerificationScope:    "fleet",
		NATS:                 "nats://n1:4222,tls://n2:4222",
		NATSCreds:            "/etc/nats.creds",
		NATSCA:               "/etc/nats-ca.pem",
		NATSCert:             "/etc/nats.pem",
		NATSKey:              "/etc/nats.key",
		NATSReplicas:         5,
		KeepAttempts:         time.Hour,
		DecisionLog:          "https://logs.example/v1/logs",
		DecisionLogToken:     "/etc/tiergate/log-token",
		DecisionLogBuffer:    16 << 20,
		DecisionLogSpool:     "/var/spool/tiergate",
		DecisionLogSpoolMax:  2 << 30,
		DecisionLogFileMax:   10 << 20,
		DecisionLogFiles:     3,
		Shadow:               []string{"/etc/tiergate/next"},
		LogLevel:             "warn", LogFormat: "text",
		MaxBody: 4 << 20, MaxBodies: 32 << 20, MaxHeader: 8 << 10, MaxRequests: 64, MaxConnections: 128, MaxWaiting: 256, MemoryLimit: 512 << 20,
		ReadHeaderTimeout: time.Second, ReadTimeout: 2 * time.Second, DecisionTimeout: 500 * time.Millisecond,
		WriteTimeout: 90 * time.Second, IdleTimeout: 2 * time.Minute, ShutdownTimeout: 25 * time.Second,
		Traces: "https://otel.example:4318", TraceRatio: 0.25, Pprof: true, DrainDelay: 3 * time.Second,
	}
}

func TestCompleteReadsEveryKey(t *testing.T) {
	var got config.Serve
	require.NoError(t, got.Complete(filepath.Join("testdata", "good.yaml")))
	assert.Equal(t, good(), got)

	var defaults config.Serve
	defaults.SetDefaults()
	for i, field := range reflect.VisibleFields(reflect.TypeFor[config.Serve]()) {
		assert.NotEqual(t, reflect.ValueOf(defaults).Field(i).Interface(), reflect.ValueOf(got).Field(i).Interface(),
			"good.yaml should set %s to something that is not its default", field.Name)
	}
}

func TestCompleteKeepsWhatFlagsGave(t *testing.T) {
	got := config.Serve{Addr: []string{"127.0.0.1:7000"}, MaxRequests: 7}
	require.NoError(t, got.Complete(filepath.Join("testdata", "good.yaml")))
	want := good()
	want.Addr, want.MaxRequests = []string{"127.0.0.1:7000"}, 7
	assert.Equal(t, want, got)
}

func TestDefaultsAreValid(t *testing.T) {
	var s config.Serve
	require.NoError(t, s.Complete(""))
	assert.Equal(t, []string{"127.0.0.1:8642"}, s.Addr)
}

// The command line makes flags, variables and help out of the same struct, so all must agree on names and defaults.
func TestEveryFieldIsFlagVariableAndKey(t *testing.T) {
	var cli config.Serve
	parser, err := kong.New(&cli, kong.DefaultEnvars("TIERGATE"))
	require.NoError(t, err)
	var defaults config.Serve
	defaults.SetDefaults()
	flags := map[string]*kong.Flag{}
	for _, flag := range parser.Model.Flags {
		flags[flag.Name] = flag
	}
	for i, field := range reflect.VisibleFields(reflect.TypeFor[config.Serve]()) {
		key := field.Tag.Get("yaml")
		flag := flags[strings.ReplaceAll(key, "_", "-")]
		require.NotNil(t, flag, "no flag for key %q", key)
		assert.Equal(t, []string{"TIERGATE_" + strings.ToUpper(key)}, flag.Envs)
		assert.NotEmpty(t, flag.Help, key)
		if value := reflect.ValueOf(defaults).Field(i); !value.IsZero() {
			assert.Contains(t, flag.Help, "Default "+strings.Trim(fmt.Sprint(value.Interface()), "[]")+".", key)
		}
	}
}

func TestCompleteNamesAllMistakesOfAFile(t *testing.T) {
	var s config.Serve
	file := filepath.Join("testdata", "bad.yaml")
	assert.EqualError(t, s.Complete(file), strings.ReplaceAll(strings.TrimSpace(`
FILE:1: unknown key "adr"; did you mean "addr"?
FILE:2: unknown key "diagnostic-addr"; did you mean "diagnostic_addr"?
FILE:3: unknown key "tls_certificate_file"; known are addr, diagnostic_addr, webhook_addr, tls_cert, tls_key, tls_client_ca, access, `+
		`allow_unauthenticated, allow_plaintext, admin_api, policy, policy_poll, policy_token, policy_ca, policy_state, `+
		`policy_launches, policy_accept, data, cache_dir, verification_key, verification_alg, verification_key_id, `+
		`verification_scope, nats, nats_creds, nats_ca, nats_cert, nats_key, nats_replicas, keep_attempts, `+
		`decision_log, decision_log_token, decision_log_buffer, decision_log_spool, decision_log_spool_max, `+
		`decision_log_file_max, decision_log_files, shadow, log_level, log_format, max_body, max_bodies, max_header, `+
		`max_requests, max_connections, memory_limit, max_waiting, read_header_timeout, read_timeout, decision_timeout, `+
		`write_timeout, idle_timeout, traces, trace_ratio, pprof, drain_delay, shutdown_timeout
FILE:4: addr: want a list of values
FILE:5: allow_unauthenticated: "maybe" is neither true nor false
FILE:6: data: want a single value
FILE:7: policy: an element must be a single value
FILE:8: max_body: "8 MiB" is no size; write bytes or a unit of KiB, MiB or GiB, e.g. 8MiB
FILE:9: max_requests: "many" is no whole number
FILE:10: key "max_requests" is given twice; keep one
FILE:11: idle_timeout: "60" is no duration; write e.g. 5s or 1m30s`), "FILE", file))
}

func TestParseRefusesWhatIsNoConfiguration(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"a list", "- addr", "f.yaml:1: a configuration is a mapping of keys to values, e.g. addr: [127.0.0.1:8642]"},
		{"no YAML", "addr: [", "f.yaml: line 1: did not find expected node content"},
		{
			"two documents", "data: a\n---\ndata: b",
			"f.yaml: a configuration is one YAML document; remove what follows the first",
		},
	} {
		_, err := config.Parse("f.yaml", []byte(test.text))
		assert.EqualError(t, err, test.want, test.name)
	}
	for _, empty := range []string{"", "# nothing yet\n", "---\n"} {
		got, err := config.Parse("f.yaml", []byte(empty))
		require.NoError(t, err, "%q", empty)
		assert.Equal(t, new(config.Serve), got)
	}
}

func TestCompleteNamesAFileThatIsNotThere(t *testing.T) {
	var s config.Serve
	assert.EqualError(t, s.Complete("testdata/none.yaml"),
		"read configuration: open testdata/none.yaml: no such file or directory")
}
