package api

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"github.com/tiergate/tiergate/internal/config"
)

// socketMode lets the owner and the group of a unix socket connect, nobody else.
const socketMode = 0o660

// listener is an open address.
type listener struct {
	net.Listener
	addr   string
	scheme string // http or https
	role   listenerRole
}

// listenerRole is what an address is for.
type listenerRole int

const (
	mainListener listenerRole = iota
	diagnosticListener
	webhookListener
)

// Listen opens all addresses, or none and reports why. Serve does it otherwise; who calls it first learns of a taken
// address, or of the port that 0 stands for, before anything is served.
func (s *Server) Listen() error {
	for _, addr := range s.config.Addr {
		if err := s.open(addr, mainListener); err != nil {
			return err
		}
	}
	if s.config.WebhookAddr != "" {
		if err := s.open(s.config.WebhookAddr, webhookListener); err != nil {
			return err
		}
	}
	if s.config.DiagnosticAddr != "" {
		return s.open(s.config.DiagnosticAddr, diagnosticListener)
	}
	return nil
}

// open opens an address, or closes all that are open. A unix socket is not encrypted, since only this machine can reach it, nor
// is the diagnostic address, which tells nothing that is secret.
func (s *Server) open(addr string, role listenerRole) error {
	raw, err := listen(addr)
	if err != nil {
		s.closeListeners()
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	l := listener{limit(raw, s.config.MaxConnections), addr, "http", role}
	if s.tls != nil && raw.Addr().Network() != "unix" && role != diagnosticListener {
		l.Listener, l.scheme = tls.NewListener(l.Listener, s.tls.Server(role == webhookListener)), "https"
	}
	s.listeners = append(s.listeners, l)
	return nil
}

func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.listeners = nil
}

// URLs are the base URLs of the main addresses, and of the webhook's and the diagnostic address last if there are any. It is empty unless
// the server listens.
func (s *Server) URLs() []string {
	var urls []string
	for _, l := range s.listeners {
		if l.Addr().Network() == "unix" {
			urls = append(urls, l.addr)
		} else {
			urls = append(urls, l.scheme+"://"+l.Addr().String())
		}
	}
	return urls
}

func listen(addr string) (net.Listener, error) {
	network, address, err := config.Endpoint(addr)
	if err != nil {
		return nil, err
	}
	if network != "unix" {
		return net.Listen(network, address)
	}
	if err := removeStale(address); err != nil {
		return nil, err
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(address, socketMode); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// removeStale removes the socket that a killed process left behind. It leaves alone what is no socket, and a socket on
// which somebody listens.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("there is a file of that name which is no socket; remove it or choose another path")
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		_ = conn.Close()
		return errors.New("another process listens there; stop it or choose another path")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}
