package deploy

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/internal/access"
	"github.com/tiergate/tiergate/internal/certs/certstest"
	"github.com/tiergate/tiergate/internal/config"
)

// settings are those of a directory's service, complete and valid.
func settings(t *testing.T, directory string) *config.Serve {
	t.Helper()
	serve := new(config.Serve)
	require.NoError(t, serve.Complete(filepath.Join("kustomize", directory, "serve.yaml")), directory)
	return serve
}

func TestSettingsFitTheirPods(t *testing.T) {
	for _, directory := range directories {
		t.Run(directory, func(t *testing.T) {
			serve := settings(t, directory)
			pod, c := gate(t, directory)
			assert.Equal(t, []string{"serve", "--config", "/etc/tiergate/config/serve.yaml"}, c.Args)
			assert.Greater(t, time.Duration(pod.Grace)*time.Second, serve.DrainDelay+serve.ShutdownTimeout,
				"the kubelet must not kill what still answers")
			ports := map[string]int{}
			for _, p := range c.Ports {
				ports[p.Name] = p.Port
			}
			assert.Equal(t, ports["diagnostic"], port(t, serve.DiagnosticAddr), "probes and scrapers ask there")
			require.NotNil(t, c.Startup)
			for _, p := range []*probe{c.Startup, c.Readiness, c.Liveness} {
				if p != nil {
					assert.Equal(t, "diagnostic", p.HTTPGet.Port)
					assert.Contains(t, []string{"/health/ready", "/health/live"}, p.HTTPGet.Path)
				}
			}
			if directory == "webhook" {
				assert.Equal(t, ports["webhook"], port(t, serve.WebhookAddr))
				return
			}
			assert.Equal(t, ports["gate"], port(t, serve.Addr[0]))
			assert.NotEmpty(t, serve.TLSCert)
			assert.False(t, serve.AllowUnauthenticated || serve.AllowPlaintext)
		})
	}
}

func port(t *testing.T, address string) int {
	t.Helper()
	_, text, err := net.SplitHostPort(address)
	require.NoError(t, err)
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

func TestWebhookAnswersInTime(t *testing.T) {
	for _, o := range objects(t, "webhook") {
		for _, w := range o.Webhooks {
			assert.Less(t, settings(t, "webhook").DecisionTimeout, time.Duration(w.TimeoutSeconds)*time.Second)
			return
		}
	}
	t.Error("there is no webhook")
}

// The access files are read as a service reads them, with a pod's own files in their places.
func TestAccessFiles(t *testing.T) {
	for _, directory := range []string{"sidecar", "central"} {
		text, err := os.ReadFile(filepath.Join("kustomize", directory, "access.yaml"))
		require.NoError(t, err)
		dir := t.TempDir()
		certstest.New(t).Files(dir, certstest.Loopback)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte("a-token-of-this-pod"), 0o600))
		file := filepath.Join(dir, "access.yaml")
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "/var/run/secrets/kubernetes.io/serviceaccount", dir)), 0o600))
		_, err = access.Open(t.Context(), access.Options{File: file})
		assert.NoError(t, err, directory)
	}
}

// The store is what DESIGN promises only with these settings; NATS itself reads them here.
func TestNATS(t *testing.T) {
	text, err := os.ReadFile("kustomize/central/nats.conf")
	require.NoError(t, err)
	dir := t.TempDir()
	certstest.New(t).Files(dir, certstest.Loopback)
	file := filepath.Join(dir, "nats.conf")
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "/etc/nats/tls", dir)), 0o600))
	t.Setenv("POD_NAME", "tiergate-nats-0")
	opts, err := server.ProcessConfigFile(file)
	require.NoError(t, err)
	assert.True(t, opts.JetStream)
	assert.True(t, opts.SyncAlways)
	require.NotNil(t, opts.TLSConfig)
	assert.Equal(t, tls.RequireAndVerifyClientCert, opts.TLSConfig.ClientAuth, "who has no certificate is nobody")
	assert.Equal(t, "tiergate-nats-0", opts.ServerName)
	assert.NotNil(t, opts.Cluster.TLSConfig)

	serve := settings(t, "central")
	servers := strings.Split(serve.NATS, ",")
	assert.Len(t, servers, serve.NATSReplicas)
	assert.Len(t, opts.Routes, serve.NATSReplicas)
	replicas := 0
	for _, o := range objects(t, "central") {
		if o.Kind == "StatefulSet" {
			replicas = o.Spec.Replicas
		}
	}
	assert.Equal(t, serve.NATSReplicas, replicas)
	for i, name := range servers {
		assert.Equal(t, "tls://tiergate-nats-"+strconv.Itoa(i)+".tiergate-nats:4222", name)
		assert.Equal(t, "tiergate-nats-"+strconv.Itoa(i)+".tiergate-nats:6222", opts.Routes[i].Host)
	}
}

// Alerts and advice name only metrics that the program has.
func TestMetricsExist(t *testing.T) {
	name := regexp.MustCompile(`\btiergate_[a-z_]+`)
	known := map[string]bool{}
	for _, dir := range []string{"../api", "../internal/access", "../internal/decisionlog", "../internal/rollout"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, found := range regexp.MustCompile(`"(tiergate_[a-z_]+)"`).FindAllStringSubmatch(string(text), -1) {
				known[found[1]] = true
			}
		}
	}
	for _, file := range []string{"kustomize/central/monitoring.yaml", "../docs/deploy.md"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		named := name.FindAllString(string(text), -1)
		assert.NotEmpty(t, named, file)
		for _, metric := range named {
			base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(metric, "")
			assert.True(t, known[metric] || known[base], "%s: there is no metric %s", file, metric)
		}
	}
}
