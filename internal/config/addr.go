package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// maxSocketPath is what fits into the kernel's sockaddr_un with its final zero. Bytes.
const maxSocketPath = 107

// Endpoint takes an address apart into the network and address that package net listens on: unix with a path, or tcp
// with host and port.
func Endpoint(addr string) (network, address string, err error) {
	if path, found := strings.CutPrefix(addr, "unix://"); found {
		if !strings.HasPrefix(path, "/") || len(path) > maxSocketPath {
			return "", "", fmt.Errorf("%q must name a socket by an absolute path of at most %d bytes, "+
				"e.g. unix:///run/tiergate.sock", addr, maxSocketPath)
		}
		return "unix", path, nil
	}
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", "", fmt.Errorf("%q is no address; write host:port, e.g. 127.0.0.1:8642, or unix:// and a path", addr)
	}
	return "tcp", addr, nil
}

// loopback tells whether only this machine can reach an address. Names other than localhost may mean anything, so they
// do not count.
func loopback(network, address string) bool {
	if network == "unix" {
		return true
	}
	host, _, _ := net.SplitHostPort(address)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
