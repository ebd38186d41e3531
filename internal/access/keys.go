package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lestrrat-go/jwx/v3/jwa"
	"github.com/lestrrat-go/jwx/v3/jwk"
)

const (
	// maxKeys bounds a key set. Bytes.
	maxKeys = 1 << 20
	// fetchTime bounds one request for a key set, and fetchPause is the least time between two for the sake of a key that is
	// not in the set: else anybody could make this service ask as often as he likes.
	fetchTime  = 2 * time.Second
	fetchPause = 10 * time.Second
	// refreshAfter is when a key set is fetched again, and keepKeys how long an old one counts when that fails.
	refreshAfter = 5 * time.Minute
	keepKeys     = 24 * time.Hour
)

// keySet is the public keys of a cluster at some time.
type keySet struct {
	set  jwk.Set
	read time.Time
}

// keys is where a cluster's keys come from: a file, read with the access file, or a URL.
type keys struct {
	url, ca, token string
	now            func() time.Time

	current atomic.Pointer[keySet]
	mu      sync.Mutex // of one fetch
	tried   time.Time
	failure error
}

func (m *mistakes) keySet(s *serviceAccounts, read func(string) ([]byte, error)) *keys {
	k := &keys{now: time.Now, ca: s.JWKSCA, token: s.JWKSToken}
	if strings.Contains(s.JWKS, "://") {
		u, err := url.Parse(s.JWKS)
		if err != nil || u.Host == "" || u.Scheme != "https" {
			m.add(s.line, "service_accounts: jwks: %q is no address of keys; write an https URL or a file", s.JWKS)
		}
		k.url = s.JWKS
		return k
	}
	for _, given := range []struct{ key, value string }{{"jwks_ca", s.JWKSCA}, {"jwks_token", s.JWKSToken}} {
		if given.value != "" {
			m.add(s.line, "service_accounts: %s is for a URL, and jwks names a file; leave it out", given.key)
		}
	}
	if s.JWKS == "" {
		return k
	}
	text, err := read(s.JWKS)
	if err == nil {
		err = k.take(text)
	}
	if err != nil {
		m.add(s.line, "service_accounts: read keys: %s", err)
	}
	return k
}

// take puts a key set in force.
func (k *keys) take(text []byte) error {
	set, err := jwk.Parse(text)
	if err != nil {
		return errors.New("it is no JSON web key set, as /openid/v1/jwks of an API server gives it")
	}
	if set.Len() == 0 {
		return errors.New("the key set has no keys")
	}
	for i := range set.Len() {
		key, _ := set.Key(i)
		if key.KeyType() == jwa.OctetSeq() {
			return errors.New("the key set holds a shared secret; only public keys are taken")
		}
	}
	k.current.Store(&keySet{set, k.now()})
	return nil
}

// forToken is the key set to judge a token by. It asks again for a key that it does not know yet.
func (k *keys) forToken(ctx context.Context, id string) (*keySet, error) {
	set := k.current.Load()
	if k.url == "" {
		return set, nil
	}
	if set != nil {
		if _, known := set.set.LookupKeyID(id); known && k.now().Sub(set.read) < keepKeys {
			return set, nil
		}
	}
	failure := k.fetch(ctx, fetchPause)
	set = k.current.Load()
	if set == nil || k.now().Sub(set.read) >= keepKeys {
		return nil, unauthenticated("the keys of the cluster are not here: %s; see whether this service reaches %s", failure, k.url)
	}
	return set, nil
}

// fetch gets the key set, unless that was tried within the pause, and says how the last try failed.
func (k *keys) fetch(ctx context.Context, pause time.Duration) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.tried.IsZero() && k.now().Sub(k.tried) < pause {
		return k.failure
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	text, err := k.get(ctx)
	if err == nil {
		err = k.take(text)
	}
	k.tried, k.failure = k.now(), err
	return err
}

// get reads the CA and the token anew, since both are rotated.
func (k *keys) get(ctx context.Context) ([]byte, error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	if k.ca != "" {
		text, err := readFile(k.ca)
		if err != nil {
			return nil, fmt.Errorf("read CA: %w", err)
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("read CA: %s has no certificate in PEM", k.ca)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, err
	}
	if k.token != "" {
		text, err := readFile(k.token)
		if err != nil {
			return nil, fmt.Errorf("read token: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(text)))
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("it redirects, and the token is for nobody else")
	}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", k.url, response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxKeys+1))
	if err == nil && len(text) > maxKeys {
		err = fmt.Errorf("the key set has more than %d bytes", maxKeys)
	}
	return text, err
}
