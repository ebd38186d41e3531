package config_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tiergate/tiergate/internal/config"
)

func TestValidateNamesAllMistakes(t *testing.T) {
	s := config.Serve{
		Addr: []string{
			"8642", "127.0.0.1:http", "unix://run/a.sock", "unix:///" + strings.Repeat("a", 107),
			"127.0.0.1:1", "127.0.0.1:1", "0.0.0.0:1", ":1", "gpu-a:1",
		},
		DiagnosticAddr: "metrics",
		LogLevel:       "trace", LogFormat: "xml",
		MaxBody: 17 << 20, MaxBodies: 1 << 20, MaxHeader: 10, MaxRequests: -1, MaxConnections: -2,
		MaxWaiting: -3, NATS: "n1:4222,nats://", NATSCert: "a.pem", NATSReplicas: 2, KeepAttempts: time.Second,
		DecisionLog: "ftp://h", DecisionLogFiles: -1,
		VerificationAlg: "none", VerificationScope: "prod",
		ReadTimeout: -1, WriteTimeout: 4e9,
	}
	s.SetDefaults()
	const reachable = " can be reached from other machines, and nobody is authenticated; listen on 127.0.0.1 or a " +
		"unix socket, give an access file, or set allow_unauthenticated to let anybody ask"
	const noPath = " must name a socket by an absolute path of at most 107 bytes, e.g. unix:///run/tiergate.sock"
	assert.Equal(t, []string{
		`addr: "8642" is no address; write host:port, e.g. 127.0.0.1:8642, or unix:// and a path`,
		`addr: "127.0.0.1:http" is no address; write host:port, e.g. 127.0.0.1:8642, or unix:// and a path`,
		`addr: "unix://run/a.sock"` + noPath,
		`addr: "unix:///` + strings.Repeat("a", 107) + `"` + noPath,
		`addr: "127.0.0.1:1" is given twice; keep one`,
		`addr: "0.0.0.0:1"` + reachable,
		`addr: ":1"` + reachable,
		`addr: "gpu-a:1"` + reachable,
		`diagnostic_addr: "metrics" is no address; write host:port, e.g. 127.0.0.1:8642, or unix:// and a path`,
		`nats: "n1:4222" is no server; write nats://host:4222 or tls://host:4222, several separated by commas`,
		`nats: "nats://" is no server; write nats://host:4222 or tls://host:4222, several separated by commas`,
		`nats_cert: a client certificate needs nats_cert and nats_key; give both or neither`,
		`nats_replicas: 2 is not one of 1, 3, 5`,
		`decision_log: "ftp://h" is no address; write stdout, a file, or http://host/path or https://host/path`,
		`decision_log_files: -1 is not positive`,
		`verification_alg: "none" is not one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, HS256, HS384, HS512`,
		`verification_scope: it is for signed policies, and verification_key names no key; set it, or leave this out`,
		`log_level: "trace" is not one of debug, info, warn, error`,
		`log_format: "xml" is not one of json, text`,
		`max_body: 17MiB is not between 1KiB and 16MiB`,
		`max_bodies: 1MiB is not between 17MiB and 1024GiB`,
		`max_header: 10 is not between 1KiB and 1MiB`,
		`max_requests: -1 is not positive`,
		`max_connections: -2 is not positive`,
		`max_waiting: -3 is not positive`,
		`read_timeout: -1ns is not positive; write a duration such as 5s`,
		`keep_attempts: 1s is less than 1m0s, in which ranks may still ask how their attempt ended`,
		`write_timeout: 4s leaves no time to write; it must be more than read_timeout and decision_timeout together, ` +
			`4.999999999s`,
	}, strings.Split(s.Validate().Error(), "\n"))
}

func TestAddressesThatAreAllowed(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "127.8.8.8:1", "[::1]:1", "localhost:1", "unix:///run/a.sock"} {
		s := config.Serve{Addr: []string{addr}}
		assert.NoError(t, s.Complete(""), addr)
	}
	for _, addr := range []string{"0.0.0.0:1", ":1", "[::]:1", "10.0.0.1:1", "gpu-a:1"} {
		open := config.Serve{Addr: []string{addr}, AllowUnauthenticated: true}
		assert.NoError(t, open.Complete(""), addr)
		diagnostic := config.Serve{DiagnosticAddr: addr}
		assert.NoError(t, diagnostic.Complete(""), addr)
	}
}

func TestTLSIsWholeOrNotThere(t *testing.T) {
	for _, test := range []struct {
		settings config.Serve
		want     string
	}{
		{config.Serve{TLSCert: "c"}, "tls_cert: a certificate needs tls_cert and tls_key; give both or neither"},
		{config.Serve{TLSKey: "k"}, "tls_cert: a certificate needs tls_cert and tls_key; give both or neither"},
		{config.Serve{TLSClientCA: "ca"}, "tls_client_ca: clients show certificates over TLS alone; give tls_cert and tls_key, or leave it out"},
		{config.Serve{WebhookAddr: ":8643"}, "webhook_addr: API servers call webhooks over TLS alone; give tls_cert and tls_key"},
		{
			config.Serve{WebhookAddr: "unix:///run/a", TLSCert: "c", TLSKey: "k"},
			`webhook_addr: "unix:///run/a" is a socket, which no API server reaches; write host:port, e.g. 0.0.0.0:8643`,
		},
		{
			config.Serve{WebhookAddr: "8643", TLSCert: "c", TLSKey: "k"},
			`webhook_addr: "8643" is no address; write host:port, e.g. 127.0.0.1:8642, or unix:// and a path`,
		},
	} {
		assert.EqualError(t, test.settings.Complete(""), test.want)
	}
}

func TestIdentitiesNeedAnEncryptedConnection(t *testing.T) {
	s := config.Serve{Addr: []string{":1"}, Access: "access.yaml"}
	assert.EqualError(t, s.Complete(""), `addr: ":1" can be reached from other machines, and tokens would cross the network in the `+
		`open; give tls_cert and tls_key, or set allow_plaintext if something else encrypts`)
	s.AllowPlaintext = true
	assert.NoError(t, s.Complete(""))
	s = config.Serve{Addr: []string{":1"}, Access: "access.yaml", TLSCert: "a.pem", TLSKey: "a.key"}
	assert.NoError(t, s.Complete(""))
	s = config.Serve{AdminAPI: true}
	assert.EqualError(t, s.Complete(""), "admin_api: nobody could be an administrator; name one in an access file, or leave it out")
}

func TestFilesForNATSNeedNATS(t *testing.T) {
	s := config.Serve{NATSCreds: "a.creds", NATSCA: "ca.pem", NATSCert: "a.pem", NATSKey: "a.key"}
	const why = ": it is for a NATS cluster, and nats names none; set nats, or leave it out"
	assert.EqualError(t, s.Complete(""), "nats_creds"+why+"\nnats_ca"+why+"\nnats_cert"+why+"\nnats_key"+why)
	s.NATS = "tls://n1:4222, tls://n2:4222"
	assert.NoError(t, s.Complete(""))
}

func TestSharedRendezvous(t *testing.T) {
	for _, alone := range []config.Serve{{}, {Addr: []string{"unix:///run/a.sock", "[::1]:1"}, DiagnosticAddr: ":2"}} {
		require.NoError(t, alone.Complete(""))
		assert.False(t, alone.SharedRendezvous(), alone.Addr)
	}
	for _, shared := range []config.Serve{
		{Addr: []string{"unix:///run/a.sock", ":1"}, AllowUnauthenticated: true}, {NATS: "nats://n1:4222"},
	} {
		require.NoError(t, shared.Complete(""))
		assert.True(t, shared.SharedRendezvous(), shared.Addr)
	}
}

func TestBytesReadWhatTheyWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := config.Bytes(rapid.Int64Range(-1<<40, 1<<40).Draw(t, "n") << rapid.IntRange(0, 20).Draw(t, "shift"))
		var got config.Bytes
		require.NoError(t, got.UnmarshalText([]byte(want.String())))
		require.Equal(t, want, got)
	})
	for _, bad := range []string{"", "MiB", "1.5MiB", "8 MiB", "8mb", "9999999999GiB"} {
		var b config.Bytes
		assert.EqualError(t, b.UnmarshalText([]byte(bad)),
			`"`+bad+`" is no size; write bytes or a unit of KiB, MiB or GiB, e.g. 8MiB`)
	}
}

func TestLoggerHasLevelAndFormat(t *testing.T) {
	var out bytes.Buffer
	s := config.Serve{LogLevel: "warn", LogFormat: "text"}
	s.Logger(&out).Info("hidden")
	s.Logger(&out).Warn("shown")
	assert.Contains(t, out.String(), "level=WARN msg=shown\n")
	assert.NotContains(t, out.String(), "hidden")
	out.Reset()
	s = config.Serve{}
	s.SetDefaults()
	s.Logger(&out).Debug("hidden")
	s.Logger(&out).Info("shown")
	assert.Contains(t, out.String(), `"level":"INFO","msg":"shown"}`)
	assert.NotContains(t, out.String(), "hidden")
}
