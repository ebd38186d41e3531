package journal

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTLSAndCredentials: a server that wants a client certificate and a user's credentials gets both; without either, with
// the wrong ones or without the server's CA there is an error and no journal.
func TestTLSAndCredentials(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	cert, key := ca.issue(t, "tiergate")
	foreignCert, foreignKey := other.issue(t, "tiergate")
	s, credentials := secureServer(t, ca)
	url := "tls://" + s.Addr().String()
	good := Options{URL: url, Replicas: 1, CA: ca.file, Cert: cert, Key: key, Credentials: credentials, Timeout: 5 * time.Second}
	j := open(t, good)
	require.NoError(t, j.Create(t.Context(), "a", []byte("1"), time.Minute))
	assert.Len(t, watchJournal(t, j).until(t, "the record", count(1)), 1)

	for name, change := range map[string]func(*Options){
		"no CA":               func(o *Options) { o.CA = "" },
		"another CA":          func(o *Options) { o.CA = other.file },
		"no certificate":      func(o *Options) { o.Cert, o.Key = "", "" },
		"foreign certificate": func(o *Options) { o.Cert, o.Key = foreignCert, foreignKey },
		"no credentials":      func(o *Options) { o.Credentials = "" },
		"missing credentials": func(o *Options) { o.Credentials += ".missing" },
	} {
		t.Run(name, func(t *testing.T) {
			opts := good
			change(&opts)
			_, err := Open(t.Context(), opts)
			assert.Error(t, err)
		})
	}
}

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{file: filepath.Join(t.TempDir(), "ca.pem")}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	var err error
	a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	writePEM(t, a.file, "CERTIFICATE", a.sign(t, a.cert, a.key))
	return a
}

func (a *authority) sign(t *testing.T, cert *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	return der
}

// issue makes a pair for clients and servers on loopback, and returns its files.
func (a *authority) issue(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, private)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writePEM(t, cert, "CERTIFICATE", der)
	der, err = x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	writePEM(t, key, "PRIVATE KEY", der)
	return cert, key
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// secureServer wants client certificates of that authority, and users of an account of its operator. It returns the
// credentials file of one.
func secureServer(t *testing.T, ca *authority) (*server.Server, string) {
	t.Helper()
	operator, account, user := newPair(t, nkeys.CreateOperator), newPair(t, nkeys.CreateAccount), newPair(t, nkeys.CreateUser)
	system := newPair(t, nkeys.CreateAccount)
	resolver := &server.MemAccResolver{}
	for _, a := range []pair{account, system} {
		claims := jwt.NewAccountClaims(a.public)
		if a == account {
			claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit}
		}
		require.NoError(t, resolver.Store(a.public, encode(t, claims, operator)))
	}
	operatorClaims := jwt.NewOperatorClaims(operator.public)
	operatorClaims.SystemAccount = system.public
	file := filepath.Join(t.TempDir(), "user.creds")
	seed, err := user.Seed()
	require.NoError(t, err)
	credentials, err := jwt.FormatUserConfig(encode(t, jwt.NewUserClaims(user.public), account), seed)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, credentials, 0o600))

	cert, err := tls.LoadX509KeyPair(ca.issue(t, "server"))
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parse(t, ca))
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		TLS: true, TLSTimeout: 5, TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert},
			ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		},
		TrustedOperators: []*jwt.OperatorClaims{decodeOperator(t, encode(t, operatorClaims, operator))},
		SystemAccount:    system.public, AccountResolver: resolver,
	})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(20*time.Second))
	return s, file
}

type pair struct {
	nkeys.KeyPair
	public string
}

func newPair(t *testing.T, create func() (nkeys.KeyPair, error)) pair {
	t.Helper()
	key, err := create()
	require.NoError(t, err)
	public, err := key.PublicKey()
	require.NoError(t, err)
	return pair{key, public}
}

func encode(t *testing.T, claims jwt.Claims, by pair) string {
	t.Helper()
	token, err := claims.Encode(by.KeyPair)
	require.NoError(t, err)
	return token
}

func decodeOperator(t *testing.T, token string) *jwt.OperatorClaims {
	t.Helper()
	claims, err := jwt.DecodeOperatorClaims(token)
	require.NoError(t, err)
	return claims
}

func parse(t *testing.T, ca *authority) *x509.Certificate {
	t.Helper()
	raw, err := os.ReadFile(ca.file)
	require.NoError(t, err)
	block, _ := pem.Decode(raw)
	cert, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return cert
}
