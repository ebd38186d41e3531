package api

import (
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
	addr       string
	diagnostic bool
}

// Listen opens all addresses, or none and reports why. Serve does it otherwise; who calls it first learns of a taken
// address, or of the port that 0 stands for, before anything is served.
func (s *Server) Listen() error {
	addrs := s.config.Addr
	if s.config.DiagnosticAddr != "" {
		addrs = append(addrs[:len(addrs):len(addrs)], s.config.DiagnosticAddr)
	}
	for i, addr := range addrs {
		l, err := listen(addr)
		if err != nil {
			s.closeListeners()
			return fmt.Errorf("listen on %s: %w", addr, err)
		}
		s.listeners = append(s.listeners, listener{
			limit(l, s.config.MaxConnections), addr, i >= len(s.config.Addr),
		})
	}
	return nil
}

func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.listeners = nil
}

// URLs are the base URLs of the main addresses, and of the diagnostic address last if there is one. It is empty unless
// the server listens.
func (s *Server) URLs() []string {
	var urls []string
	for _, l := range s.listeners {
		if l.Addr().Network() == "unix" {
			urls = append(urls, l.addr)
		} else {
			urls = append(urls, "http://"+l.Addr().String())
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
