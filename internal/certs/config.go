package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
)

// Server is the configuration of a server with the pair. Each new connection gets what is in the files then; those that are open
// go on. With a CA a client's certificate is verified if it shows one, and refused if that fails; whether it needs one is for
// whoever identifies it to say, unless it is required here.
func (s *Store) Server(requireClient bool) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			m := s.current.Load()
			c := &tls.Config{
				MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*m.pair}, ClientCAs: m.pool,
				// Limits here are per connection, and one of HTTP/2 carries hundreds of requests.
				NextProtos: []string{"http/1.1"},
			}
			switch {
			case m.pool != nil && requireClient:
				c.ClientAuth = tls.RequireAndVerifyClientCert
			case m.pool != nil:
				c.ClientAuth = tls.VerifyClientCertIfGiven
			}
			return c, nil
		},
	}
}

// DialTLS connects as a client that shows the certificate that is in the files then, and believes whom the CA of then vouches
// for. It is for http.Transport.
func (s *Store) DialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	m := s.current.Load()
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: m.pool, NextProtos: []string{"http/1.1"}}
	if m.pair != nil {
		c.Certificates = []tls.Certificate{*m.pair}
	}
	return (&tls.Dialer{Config: c}).DialContext(ctx, network, addr)
}

// Pair is the certificate of now, for clients that ask for each connection; none if there is no pair.
func (s *Store) Pair() (tls.Certificate, error) {
	if pair := s.current.Load().pair; pair != nil {
		return *pair, nil
	}
	return tls.Certificate{}, nil
}

// Pool is who vouches for the other side now; nil means the system's roots.
func (s *Store) Pool() (*x509.CertPool, error) { return s.current.Load().pool, nil }
