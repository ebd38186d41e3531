// Package credentials is what a client of Tiergate shows of itself, and whom it believes: files that a platform mounts and
// rotates. It owns when they are read, which is for each connection and each request; it must not keep what is in them.
package credentials

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"
)

// Files are paths; all may be empty.
type Files struct {
	// Token has a bearer token, e.g. a projected service account token (TIERGATE_TOKEN_FILE).
	Token string
	// CA has the PEM certificates of who vouches for the service (TIERGATE_CA); the system's own do without it.
	CA string
	// Cert and Key are this side's PEM certificate and its key (TIERGATE_CERT, TIERGATE_KEY).
	Cert, Key string
}

// FromEnvironment reads a process's environment ("KEY=value").
func FromEnvironment(environ []string) Files {
	var f Files
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "TIERGATE_TOKEN_FILE":
			f.Token = value
		case "TIERGATE_CA":
			f.CA = value
		case "TIERGATE_CERT":
			f.Cert = value
		case "TIERGATE_KEY":
			f.Key = value
		}
	}
	return f
}

// Error is a credential that cannot be shown, or a service that cannot be believed. A retry would not help.
type Error struct {
	What string
	Err  error
}

func (e *Error) Error() string { return e.What + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Check says why the files cannot be used for a service. A token does not cross a network in the open: whoever reads it there
// could report for the engine.
func (f Files) Check(service *url.URL) error {
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return &Error{"client certificate", errors.New("it needs TIERGATE_CERT and TIERGATE_KEY; give both or neither")}
	case f.Token != "" && service.Scheme == "http" && !isLoopback(service.Hostname()):
		return &Error{"token", fmt.Errorf("%s is not encrypted, and TIERGATE_TOKEN_FILE would cross the network in the open; use https://",
			service.Redacted())}
	}
	return nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Authorize adds the token to a request. It is read anew, since platforms rotate it under running processes.
func (f Files) Authorize(r *http.Request) error {
	if f.Token == "" {
		return nil
	}
	text, err := os.ReadFile(f.Token)
	if err != nil {
		return &Error{"read TIERGATE_TOKEN_FILE", err}
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return &Error{"read TIERGATE_TOKEN_FILE", fmt.Errorf("%s holds no token: one line of printable characters", f.Token)}
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// handshakeTime bounds a handshake, so that a service which accepts and says nothing leaves time for another try.
const handshakeTime = 5 * time.Second

// DialTLS connects with a dialer, shows the certificate and verifies the service by the CA of now. It is for http.Transport.
func (f Files) DialTLS(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, NextProtos: []string{"http/1.1"}}
		if config.RootCAs, err = f.roots(); err != nil {
			return nil, err
		}
		if f.Cert != "" {
			pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
			if err != nil {
				return nil, &Error{"read TIERGATE_CERT and TIERGATE_KEY", err}
			}
			config.Certificates = []tls.Certificate{pair}
		}
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, handshakeTime)
		defer cancel()
		encrypted := tls.Client(conn, config)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, f.explain(err)
		}
		return encrypted, nil
	}
}

func (f Files) roots() (*x509.CertPool, error) {
	if f.CA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, &Error{"read TIERGATE_CA", err}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, &Error{"read TIERGATE_CA", fmt.Errorf("%s has no certificate in PEM", f.CA)}
	}
	return pool, nil
}

// explain tells a service that is not who it should be, or refuses this side, from a connection that broke.
func (f Files) explain(err error) error {
	var unbelieved *tls.CertificateVerificationError
	var refused tls.AlertError
	switch {
	case errors.As(err, &unbelieved) && f.CA == "":
		return &Error{"the service's certificate is not believed", fmt.Errorf("%w; name who vouches for it in TIERGATE_CA", err)}
	case errors.As(err, &unbelieved):
		return &Error{"the service's certificate is not believed", fmt.Errorf("%w; TIERGATE_CA is %s", err, f.CA)}
	case errors.As(err, &refused):
		return &Error{"the service refuses the connection", fmt.Errorf("%w; it may want a certificate of TIERGATE_CERT and TIERGATE_KEY", err)}
	}
	return err
}
