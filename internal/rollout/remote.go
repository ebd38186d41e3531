package rollout

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/policy/bundle"
)

// fetchTime is the default of remote.patience.
const fetchTime = 30 * time.Second

// maxDownload is the size of the largest bundle. Bytes.
const maxDownload = 32 << 20

// remote is the URL of a bundle, with what was fetched from it last.
type remote struct {
	url  string
	name string // the URL without a password
	opts *Options
	// patience bounds one download.
	patience time.Duration
	// packed is the bundle that the server has, as far as it is known here, and etag the server's name for it.
	packed []byte
	etag   string
	// kept tells that packed is the copy on disk, because the server has not been reached yet.
	kept bool
	// unsaved tells that the copy on disk is not packed yet, and unsavable why writing it failed last.
	unsaved   bool
	unsavable string
	// failures are those in a row, and next is when the server is asked again after them.
	failures int
	next     time.Time
	failure  error
}

// maxBackoff is the longest pause between two requests to a server that does not answer.
const maxBackoff = 5 * time.Minute

// ask fetches, but for a server that failed only after a pause that grows with each failure, with some chance in it: a
// server that comes back must not be met by all its clients at once.
func (r *remote) ask(ctx context.Context, now time.Time) error {
	if now.Before(r.next) {
		return r.failure
	}
	r.failure = r.fetch(ctx)
	if r.failure == nil {
		r.failures, r.next = 0, time.Time{}
		return nil
	}
	pause := min(r.opts.Poll<<min(r.failures, 10), maxBackoff)
	r.failures++
	r.next = now.Add(pause/2 + rand.N(pause/2+1))
	return r.failure
}

func newRemote(source string, opts *Options) *remote {
	r := &remote{url: source, name: source, opts: opts, patience: fetchTime}
	if u, err := url.Parse(source); err == nil {
		r.name = u.Redacted()
	}
	return r
}

// open verifies what was fetched last.
func (r *remote) open() (policy.Source, error) {
	b, err := bundle.Read(r.name, bytes.NewReader(r.packed), bundle.Limits{})
	if err != nil {
		return policy.Source{}, err
	}
	return verified(b, r.opts.Verification)
}

// fetch asks the server for a bundle that is not the one that is here.
func (r *remote) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.patience, fmt.Errorf("no whole answer within %s", r.patience))
	defer cancel()
	client, err := r.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	request, err := r.request(ctx)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", r.name, reason(ctx, err))
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusNotModified:
		r.kept = false
		return nil
	case http.StatusOK:
	default:
		return fmt.Errorf("fetch %s: the server answers %s", r.name, response.Status)
	}
	packed, err := io.ReadAll(io.LimitReader(response.Body, maxDownload+1))
	switch {
	case err != nil:
		return fmt.Errorf("fetch %s: after %d bytes: %w", r.name, len(packed), reason(ctx, err))
	case len(packed) > maxDownload:
		return fmt.Errorf("fetch %s: the bundle has more than %d bytes, which is what is allowed", r.name, maxDownload)
	}
	r.unsaved = r.unsaved || !bytes.Equal(r.packed, packed)
	r.packed, r.etag, r.kept = packed, response.Header.Get("ETag"), false
	return nil
}

func (r *remote) request(ctx context.Context) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, err
	}
	if r.etag != "" {
		request.Header.Set("If-None-Match", r.etag)
	}
	if r.opts.TokenFile != "" {
		text, err := os.ReadFile(r.opts.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("read policy_token: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(text)))
	}
	return request, nil
}

// client reads the CA anew, since it may be rotated. A redirect is followed only within the server that was named: the token
// is for nobody else.
func (r *remote) client() (*http.Client, error) {
	// A bundle is compressed already: asked for gzip, some servers call that the encoding, and the client would take it off.
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, DisableCompression: true}
	if r.opts.CAFile != "" {
		text, err := os.ReadFile(r.opts.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read policy_ca: %w", err)
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("read policy_ca: %s has no certificate in PEM", r.opts.CAFile)
		}
	}
	return &http.Client{Transport: transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		first := via[0].URL
		if len(via) > 5 || next.URL.Scheme != first.Scheme || next.URL.Host != first.Host {
			return fmt.Errorf("it redirects to %s://%s, and only redirects within the server are followed", next.URL.Scheme, next.URL.Host)
		}
		return nil
	}}, nil
}

// reason leaves out the URL, which the caller names, with the password that it may have.
func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// copyPath is where the last good copy is.
func (r *remote) copyPath() string {
	sum := sha256.Sum256([]byte(r.url))
	return filepath.Join(r.opts.StateDir, "bundle-"+hex.EncodeToString(sum[:8])+".tar.gz")
}

// recall takes the last good copy, if there is one.
func (r *remote) recall() bool {
	if r.opts.StateDir == "" {
		return false
	}
	packed, err := os.ReadFile(r.copyPath())
	if err != nil || len(packed) > maxDownload {
		return false
	}
	r.packed, r.kept = packed, true
	return true
}

// keep writes what is in force now as the last good copy.
func (r *remote) keep() error {
	if r.opts.StateDir == "" || !r.unsaved {
		return nil
	}
	err := replace(r.copyPath(), r.packed)
	r.unsaved = err != nil
	return err
}

// replace writes a file beside and renames it, so that after a crash there is the old one or the new one, whole.
func replace(name string, content []byte) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	part, err := os.CreateTemp(dir, filepath.Base(name)+".*.part")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) //nolint:errcheck // it is there only after a failure
	_, err = part.Write(content)
	if err == nil {
		err = part.Sync()
	}
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := os.Rename(part.Name(), name); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync() // else the name may be gone after a power failure
}
