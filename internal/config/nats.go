package config

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// leastKeep is how long an ended attempt is remembered at least.
const leastKeep = time.Minute

// SharedRendezvous tells whether workers on several nodes can meet here: their reports reach one state through a cluster, or
// they reach this process, because it listens beyond its own machine.
func (s *Serve) SharedRendezvous() bool {
	return s.NATS != "" || slices.ContainsFunc(s.Addr, func(addr string) bool {
		network, address, err := Endpoint(addr)
		return err == nil && !loopback(network, address)
	})
}

func (s *Serve) validateNATS(m *mistakes) {
	for server := range strings.SplitSeq(s.NATS, ",") {
		u, err := url.Parse(strings.TrimSpace(server))
		if s.NATS != "" && (err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls") {
			m.add("nats: %q is no server; write nats://host:4222 or tls://host:4222, several separated by commas", server)
		}
	}
	for _, file := range []struct{ key, value string }{
		{"nats_creds", s.NATSCreds}, {"nats_ca", s.NATSCA}, {"nats_cert", s.NATSCert}, {"nats_key", s.NATSKey},
	} {
		if file.value != "" && s.NATS == "" {
			m.add("%s: it is for a NATS cluster, and nats names none; set nats, or leave it out", file.key)
		}
	}
	if (s.NATSCert == "") != (s.NATSKey == "") {
		m.add("nats_cert: a client certificate needs nats_cert and nats_key; give both or neither")
	}
	if !slices.Contains([]int{1, 3, 5}, s.NATSReplicas) {
		m.add("nats_replicas: %d is not one of 1, 3, 5", s.NATSReplicas)
	}
}
