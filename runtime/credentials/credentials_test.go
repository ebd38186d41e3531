package credentials_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tiergate/tiergate/runtime/credentials"
)

func TestFromEnvironment(t *testing.T) {
	assert.Equal(t, credentials.Files{Token: "t", CA: "ca", Cert: "c", Key: "k"}, credentials.FromEnvironment([]string{
		"HOME=/", "TIERGATE_TOKEN_FILE=t", "TIERGATE_CA=ca", "TIERGATE_CERT=c", "TIERGATE_KEY=k", "TIERGATE_TOKEN=secret",
	}))
}

// A token crosses a network over TLS alone.
func TestCheck(t *testing.T) {
	for service, want := range map[string]string{
		"https://gate.example:8642": "", "http://127.0.0.1:8642": "", "http://[::1]:8642": "", "http://localhost:8642": "",
		"http://gate.example:8642": "token: http://gate.example:8642 is not encrypted, and TIERGATE_TOKEN_FILE would cross the network in " +
			"the open; use https://",
		"http://10.0.0.7:8642": "token: http://10.0.0.7:8642 is not encrypted, and TIERGATE_TOKEN_FILE would cross the network in the open; " +
			"use https://",
	} {
		u, err := url.Parse(service)
		require.NoError(t, err)
		if err := (credentials.Files{Token: "t"}).Check(u); want == "" {
			assert.NoError(t, err, service)
		} else {
			assert.EqualError(t, err, want)
		}
		assert.NoError(t, credentials.Files{}.Check(u))
		assert.EqualError(t, credentials.Files{Key: "k"}.Check(u), "client certificate: it needs TIERGATE_CERT and TIERGATE_KEY; give both or neither")
	}
}

// Platforms rotate tokens under running processes, so that each request shows what the file holds then.
func TestAuthorizeReadsTheTokenAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	f := credentials.Files{Token: path}
	for _, token := range []string{"first", "second\n"} {
		require.NoError(t, os.WriteFile(path, []byte(token), 0o600))
		r := &http.Request{Header: http.Header{}}
		require.NoError(t, f.Authorize(r))
		assert.Equal(t, "Bearer "+strings.TrimSpace(token), r.Header.Get("Authorization"))
	}
	r := &http.Request{Header: http.Header{}}
	for _, bad := range []string{"", " \n", "two\nlines", "caf\u00e9"} {
		require.NoError(t, os.WriteFile(path, []byte(bad), 0o600))
		assert.EqualError(t, f.Authorize(r), "read TIERGATE_TOKEN_FILE: "+path+" holds no token: one line of printable characters")
	}
	require.NoError(t, os.Remove(path))
	assert.EqualError(t, f.Authorize(r), "read TIERGATE_TOKEN_FILE: open "+path+": no such file or directory")
	assert.Empty(t, r.Header)
	require.NoError(t, credentials.Files{}.Authorize(r))
	assert.Empty(t, r.Header)
}
