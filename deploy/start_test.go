package deploy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/tiergate/tiergate/internal/certs/certstest"
	"github.com/tiergate/tiergate/internal/cli"
)

// started is a service with a directory's own files, on other ports.
type started struct {
	client *http.Client
	// urls are those of its line on standard output: the main one, the webhook's if there is one, the diagnostic one.
	urls []string
}

// start takes pairs of texts that are replaced in the settings beside those that every directory has.
func start(t *testing.T, directory string, replace ...string) started {
	dir := t.TempDir()
	authority := certstest.New(t)
	authority.Files(dir, certstest.Loopback)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte("a-token-of-this-pod"), 0o600))
	// What a pod mounts, and ports that are free.
	moved := strings.NewReplacer(append(replace, "/etc/tiergate/config/", dir+"/", "/etc/tiergate/tls/", dir+"/",
		"/var/run/secrets/kubernetes.io/serviceaccount/", dir+"/", "0.0.0.0:8642", "0.0.0.0:0", "127.0.0.1:8642", "127.0.0.1:0",
		"0.0.0.0:8643", "0.0.0.0:0", "0.0.0.0:8644", "localhost:0", "drain_delay: 5s", "drain_delay: 1ms")...)
	for _, name := range []string{"serve.yaml", "access.yaml"} {
		text, err := os.ReadFile(filepath.Join("kustomize", directory, name))
		if err == nil {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(moved.Replace(string(text))), 0o600))
		}
	}
	_, c := gate(t, directory)
	args := append([]string{}, c.Args...)
	args[len(args)-1] = moved.Replace(args[len(args)-1])

	ctx, stop := context.WithCancel(t.Context())
	stdout, write := io.Pipe()
	var log bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, args, nil, strings.NewReader(""), write, &log)
		_ = write.Close()
	}()
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	t.Cleanup(func() {
		stop()
		select {
		case status := <-ended:
			assert.Zero(t, status, "%s", &log)
		case <-time.After(30 * time.Second):
			t.Error("the service does not end")
		}
	})
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(authority.PEM))
	s := started{client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}, Timeout: 10 * time.Second}}
	t.Cleanup(s.client.CloseIdleConnections)
	for _, url := range regexp.MustCompile(`https?://\S+:\d+`).FindAllString(line, -1) {
		s.urls = append(s.urls, regexp.MustCompile(`//\S+:`).ReplaceAllString(url, "//localhost:"))
	}
	require.NotEmpty(t, s.urls, "%q: %s", line, &log)
	return s
}

func (s started) ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// untilReady asks as a startup probe does.
func (s started) untilReady(t *testing.T, diagnostic string) {
	t.Helper()
	require.Eventually(t, func() bool {
		code, _ := s.ask(t, http.MethodGet, diagnostic+"/health/ready", "")
		return code == http.StatusOK
	}, 30*time.Second, 10*time.Millisecond)
}

func TestSidecarStarts(t *testing.T) {
	s := start(t, "sidecar")
	require.Len(t, s.urls, 2)
	s.untilReady(t, s.urls[1])
	require.Regexp(t, "^https://", s.urls[0])
	code, text := s.ask(t, http.MethodPut, s.urls[0]+"/v1/engines/chat/ranks/0", "{}")
	assert.Equal(t, http.StatusUnauthorized, code, "%s", text)
}

// The webhook, as it is deployed, lets the example through and refuses it spread over nodes.
func TestWebhookStarts(t *testing.T) {
	s := start(t, "webhook")
	require.Len(t, s.urls, 3)
	s.untilReady(t, s.urls[2])
	for file, allowed := range map[string]bool{"kustomize/sidecar/leaderworkerset.yaml": true, "testdata/spanning.yaml": false} {
		code, text := s.ask(t, http.MethodPost, s.urls[1]+"/v1/admission?timeout=5s", review(t, file))
		require.Equal(t, http.StatusOK, code, text)
		var answer struct {
			Response struct {
				Allowed bool
				Status  struct{ Message string }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		assert.Equal(t, allowed, answer.Response.Allowed, text)
		if !allowed {
			assert.Contains(t, answer.Response.Status.Message, "tiering.node_local: ")
			assert.Contains(t, answer.Response.Status.Message, "to fix it: ")
		}
	}
	code, _ := s.ask(t, http.MethodGet, s.urls[1]+"/v1/policies", "")
	assert.Equal(t, http.StatusNotFound, code, "the webhook's address answers reviews and nothing else")
}

// review is what an API server asks when the object of a file is created.
func review(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var object map[string]any
	require.NoError(t, yaml.Unmarshal(text, &object))
	encoded, err := json.Marshal(object)
	require.NoError(t, err)
	return fmt.Sprintf(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
		"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "operation": "CREATE", "name": "vllm", "namespace": "inference",
		"kind": {"group": "leaderworkerset.x-k8s.io", "version": "v1", "kind": "LeaderWorkerSet"},
		"resource": {"group": "leaderworkerset.x-k8s.io", "version": "v1", "resource": "leaderworkersets"},
		"userInfo": {"username": "alice"}, "object": %s}}`, encoded)
}
