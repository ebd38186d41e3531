package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxKeySet bounds a key set from a URL. Bytes.
const maxKeySet = 256 << 10

// get asks the URL for the key set, over a connection of its own. The CA and the token are read anew, since both are rotated.
func (k *keys) get(ctx context.Context) ([]byte, error) {
	roots, err := k.roots()
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url, nil)
	if err != nil {
		return nil, err
	}
	if k.token != "" {
		text, err := readFile(k.token)
		if err != nil {
			return nil, fmt.Errorf("read jwks_token: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(text)))
	}
	client := &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}, ForceAttemptHTTP2: true, DisableKeepAlives: true,
		},
		// Keys come from where the access file says, and the token is for nobody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %q; it must answer 200 and the key set", k.url, response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxKeySet+1))
	if err == nil && len(text) > maxKeySet {
		err = fmt.Errorf("%s answers with more than %d bytes", k.url, maxKeySet)
	}
	return text, err
}

// roots are those of jwks_ca; nil, which means the system's, without it.
func (k *keys) roots() (*x509.CertPool, error) {
	if k.ca == "" {
		return nil, nil
	}
	text, err := readFile(k.ca)
	if err != nil {
		return nil, fmt.Errorf("read jwks_ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, errors.New("read jwks_ca: it has no certificate in PEM")
	}
	return roots, nil
}
