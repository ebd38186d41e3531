package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{cert, key}
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// sign makes a client certificate for some names.
func (a *authority) sign(t testing.TB, names x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	names.SerialNumber, names.NotBefore, names.NotAfter = big.NewInt(2), a.cert.NotBefore, a.cert.NotAfter
	names.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, &names, a.cert, key.Public(), a.key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func named(uri, dns, common string) x509.Certificate {
	cert := x509.Certificate{Subject: pkix.Name{CommonName: common}}
	if uri != "" {
		parsed, _ := url.Parse(uri)
		cert.URIs = []*url.URL{parsed}
	}
	if dns != "" {
		cert.DNSNames = []string{dns}
	}
	return cert
}

// whoami answers with the name of who asks, or with why it is nobody.
func whoami(guard *Guard) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		identity, err := guard.Identify(r)
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, err.Error())
			return
		}
		_, _ = io.WriteString(w, identity.Name+" of "+identity.Tenant)
	})
}

func ask(t testing.TB, client *http.Client, url, token string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text)
}

const certificateFile = `
tokens: [{name: ci, file: ci.token, tenant: t, roles: [launcher]}]
certificates:
  - {subject: "spiffe://cluster/ns/*/sa/vllm", tenant: uri, roles: [worker]}
  - {subject: "*.workers.example", tenant: dns, roles: [worker]}
  - {subject: ops, tenant: cn, roles: [admin]}
`

func TestIdentifyByCertificate(t *testing.T) {
	guard := open(t, certificateFile, map[string]string{"ci.token": ciToken})
	ca := newAuthority(t)
	server := serveTLS(t, guard, &tls.Config{ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: ca.pool()})
	const noEntry = ", and no entry of certificates is; have it added to the access file"
	for _, test := range []struct {
		name  string
		cert  x509.Certificate
		token string
		want  string
	}{
		{"a URI", named("spiffe://cluster/ns/a/sa/vllm", "", ""), "", "certificate:spiffe://cluster/ns/a/sa/vllm of uri"},
		{"a URI with more slashes", named("spiffe://cluster/ns/a/b/sa/vllm", "", ""), "", "the client certificate is for spiffe://cluster/ns/a/b/sa/vllm" + noEntry},
		{"a DNS name", named("", "gpu-1.workers.example", ""), "", "certificate:gpu-1.workers.example of dns"},
		{"a common name", named("", "", "ops"), "", "certificate:ops of cn"},
		{"a common name beside a DNS name", named("", "x.example", "ops"), "", "the client certificate is for x.example" + noEntry},
		{"a name that breaks a line", named("", "", "ops\nroot"), "", "the client certificate is for nobody by a URI, a DNS name or a common name" + noEntry},
		{"a token beside it", named("", "", "ops"), ciToken, "token:ci of t"},
		{"a wrong token beside it", named("", "", "ops"), "wrong", "no entry has this bearer token; taken are: a bearer token that the access file names; a client certificate"},
	} {
		assert.Equal(t, test.want, ask(t, showing(t, server, ca.sign(t, test.cert)), server.URL, test.token), test.name)
	}
	assert.Equal(t, "the request shows no credentials; taken are: a bearer token that the access file names; a client certificate",
		ask(t, server.Client(), server.URL, ""))

	// What nobody vouched for is no certificate, however a server is set up.
	lax := serveTLS(t, guard, &tls.Config{ClientAuth: tls.RequireAnyClientCert})
	assert.Contains(t, ask(t, showing(t, lax, newAuthority(t).sign(t, named("", "", "ops"))), lax.URL, ""), "the request shows no credentials")
}

func serveTLS(t *testing.T, guard *Guard, conf *tls.Config) *httptest.Server {
	server := httptest.NewUnstartedServer(whoami(guard))
	server.TLS = conf
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// showing is a client with a certificate.
func showing(t *testing.T, server *httptest.Server, cert tls.Certificate) *http.Client {
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.Certificates = []tls.Certificate{cert}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// A connection may live longer than the certificate that it was opened with.
func TestCertificatesRunOutOnOpenConnections(t *testing.T) {
	guard := open(t, certificateFile, map[string]string{"ci.token": ciToken})
	leaf := named("", "gpu-1.workers.example", "")
	leaf.NotAfter = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	r := asking()
	r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{&leaf}}}
	guard.now = func() time.Time { return leaf.NotAfter }
	assert.Equal(t, "certificate:gpu-1.workers.example", identified(t, guard, r).Name)
	guard.now = func() time.Time { return leaf.NotAfter.Add(time.Second) }
	assert.Equal(t, "the client certificate of gpu-1.workers.example ran out at 2026-12-01T12:00:00Z; connect anew with a new one", refused(t, guard, r))

	leaf.NotAfter, leaf.IPAddresses, leaf.DNSNames, leaf.Subject.CommonName = time.Now().Add(time.Hour), []net.IP{net.IPv4zero}, nil, "ops"
	guard.now = time.Now
	assert.Contains(t, refused(t, guard, r), "is for nobody by", "a common name does not count beside any other kind of name")
}
