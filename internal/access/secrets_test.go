package access

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// leaks finds a secret, or its better half, in a text.
func leaks(t *testing.T, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		half := secret[:len(secret)/2]
		if strings.Contains(text, half) {
			t.Errorf("%.20q... is in %.300q", secret, text)
		}
	}
}

// No credential is in anything that somebody could read: errors, log lines and the printed forms of values.
func TestSecretsAreNowhere(t *testing.T) {
	c := newCluster(t, answering(http.StatusOK, keySetOf(t, rsaSigner())))
	text, err := os.ReadFile(c.guard.opts.File)
	require.NoError(t, err)
	dir := filepath.Dir(c.guard.opts.File)
	write(t, filepath.Join(dir, "w.token"), workerToken)
	write(t, c.guard.opts.File, string(text)+"tokens: [{name: ci, sha256: "+hashOf(ciToken)+", roles: [reader]}, {name: w, file: w.token, roles: [worker]}]\n"+
		"certificates: [{subject: x, roles: [reader]}]\nunix_peers: [{uid: 1, roles: [reader]}]\n")
	c.guard.reload()
	signed := rsaSigner().token(t, nil)
	signature := signed[strings.LastIndex(signed, ".")+1:]
	secrets := []string{ciToken, workerToken, signature, "the-token-of-this-service", hashOf(ciToken), hashOf(workerToken)}

	var said []string
	for _, token := range []string{ciToken, workerToken, signed} {
		identity := identified(t, c.guard, asking("Bearer "+token))
		said = append(said, fmt.Sprintf("%+v %#v", identity, *identity))
		for _, authorization := range [][]string{
			{token},
			{"Basic " + token},
			{"Bearer " + token + "x"},
			{"Bearer x" + token},
			{"Bearer " + token + "." + token},
			{"Bearer " + token + "." + token + "." + token},
			{"Bearer " + token, "Bearer " + token},
			{token + " Bearer"},
			{"Bearer " + strings.Repeat(token, 1000)},
		} {
			_, err := c.guard.Identify(asking(authorization...))
			require.Error(t, err, "%.50q", authorization)
			said = append(said, err.Error(), fmt.Sprintf("%+v %#v", err, err))
		}
	}
	c.answers(answering(http.StatusForbidden, "the-token-of-this-service"))
	c.pass(refreshAfter)
	c.guard.refreshKeys(t.Context())
	write(t, c.guard.opts.File, "tokens: [{name: w, token: "+workerToken+"}, {name: v, sha256: "+workerToken+"}, "+workerToken+"]\nlimits: "+workerToken)
	c.guard.reload()
	write(t, c.guard.opts.File, "tokens: ["+workerToken+"\n"+ciToken+": {")
	c.guard.reload()
	require.EqualValues(t, 2, c.guard.State().Reloads.Failures)

	rules := c.guard.rules.Load()
	for _, value := range []any{
		c.guard, c.guard.opts, c.guard.State(), rules, *rules, rules.tokens, rules.accounts, *rules.accounts, rules.accounts.keys, rules.accounts.entries,
		rules.certificates, rules.peers, c.guard.buckets,
	} {
		said = append(said, fmt.Sprintf("%+v", value), fmt.Sprintf("%#v", value), fmt.Sprintf("%s %x", value, value))
	}
	leaks(t, strings.Join(said, "\n"), secrets...)
	leaks(t, c.log.String(), secrets...)
	assert.Contains(t, c.log.String(), "cannot be reloaded")
}

// The names that errors and logs do show can be shown: nothing in them ends a line or fills a disk.
func TestNamesAreFitToBeLogged(t *testing.T) {
	long := strings.Repeat("x", 5000)
	guard := openCluster(t, vllmAccount, rsaSigner())
	for _, change := range []map[string]any{
		{"sub": long},
		{"sub": "a\nb"},
		{"iss": long},
		{"iss": "a\nb"},
		{"aud": []any{long, "a\nb"}},
		{"aud": strings.Repeat("a\n", 2000)},
	} {
		detail := refused(t, guard, asking("Bearer "+rsaSigner().token(t, change)))
		assert.Less(t, len(detail), 1024)
		assert.NotContains(t, detail, "\n")
	}
	for _, header := range []map[string]any{{"kid": long}, {"kid": "a\nb"}} {
		detail := refused(t, guard, asking("Bearer "+rsaSigner().sign(t, header, claimsText(t, nil))))
		assert.Less(t, len(detail), 1024)
		assert.NotContains(t, detail, "\n")
	}
	many := &x509.Certificate{DNSNames: strings.Split(strings.Repeat("some.name.example ", 1000), " ")}
	_, err := certificates{}.find(many, many.NotAfter)
	assert.Less(t, len(err.Error()), 4*maxSubject+256)
	text, err := json.Marshal(err)
	require.NoError(t, err)
	assert.NotContains(t, string(text), `\n`)
}
