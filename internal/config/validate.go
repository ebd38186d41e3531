package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tiergate/tiergate/policy/bundle"
	"github.com/tiergate/tiergate/topology/document"
)

// mistakes collects everything that is wrong.
type mistakes []error

func (m *mistakes) add(format string, args ...any) { *m = append(*m, fmt.Errorf(format, args...)) }

// Validate reports every setting that the service could not or should not run with, each by its key.
func (s *Serve) Validate() error {
	var m mistakes
	s.validateAddresses(&m)
	s.validateTLS(&m)
	s.validateNATS(&m)
	s.validateDecisionLog(&m)
	s.validateVerification(&m)
	m.oneOf("log_level", s.LogLevel, "debug", "info", "warn", "error")
	m.oneOf("log_format", s.LogFormat, "json", "text")
	m.within("max_body", s.MaxBody, 1<<10, document.MaxBytes)
	m.within("max_bodies", s.MaxBodies, s.MaxBody, 1<<40)
	m.within("max_header", s.MaxHeader, 1<<10, 1<<20)
	m.positive("max_requests", s.MaxRequests)
	m.positive("max_connections", s.MaxConnections)
	m.positive("max_waiting", s.MaxWaiting)
	s.validateTimeouts(&m)
	return errors.Join(m...)
}

func (s *Serve) validateAddresses(m *mistakes) {
	for i, addr := range s.Addr {
		network, address, err := Endpoint(addr)
		switch {
		case err != nil:
			m.add("addr: %w", err)
		case slices.Contains(s.Addr[:i], addr), addr == s.DiagnosticAddr:
			m.add("addr: %q is given twice; keep one", addr)
		case loopback(network, address):
		case s.Access == "" && !s.AllowUnauthenticated:
			m.add("addr: %q can be reached from other machines, and nobody is authenticated; listen on 127.0.0.1 or a unix "+
				"socket, give an access file, or set allow_unauthenticated to let anybody ask", addr)
		case s.Access != "" && s.TLSCert == "" && !s.AllowPlaintext:
			m.add("addr: %q can be reached from other machines, and tokens would cross the network in the open; give tls_cert and "+
				"tls_key, or set allow_plaintext if something else encrypts", addr)
		}
	}
	if s.TraceRatio < 0 || s.TraceRatio > 1 {
		m.add("trace_ratio: %g is no share; write a number above 0 and up to 1", s.TraceRatio)
	}
	if s.Pprof && s.DiagnosticAddr == "" {
		m.add("pprof: profiles are served at the diagnostic address alone; give diagnostic_addr, or leave it out")
	}
	if s.AdminAPI && s.Access == "" {
		m.add("admin_api: nobody could be an administrator; name one in an access file, or leave it out")
	}
	if s.DiagnosticAddr != "" {
		if _, _, err := Endpoint(s.DiagnosticAddr); err != nil {
			m.add("diagnostic_addr: %w", err)
		}
	}
}

func (s *Serve) validateVerification(m *mistakes) {
	m.oneOf("verification_alg", s.VerificationAlg, bundle.Algorithms...)
	for _, given := range []struct{ key, value string }{
		{"verification_key_id", s.VerificationKeyID}, {"verification_scope", s.VerificationScope},
	} {
		if given.value != "" && s.VerificationKey == "" {
			m.add("%s: it is for signed policies, and verification_key names no key; set it, or leave this out", given.key)
		}
	}
}

func (s *Serve) validateTimeouts(m *mistakes) {
	for _, timeout := range []struct {
		key   string
		value time.Duration
	}{
		{"read_header_timeout", s.ReadHeaderTimeout},
		{"read_timeout", s.ReadTimeout},
		{"decision_timeout", s.DecisionTimeout},
		{"write_timeout", s.WriteTimeout},
		{"idle_timeout", s.IdleTimeout},
		{"shutdown_timeout", s.ShutdownTimeout},
		{"keep_attempts", s.KeepAttempts},
		{"policy_poll", s.PolicyPoll},
	} {
		if timeout.value <= 0 {
			m.add("%s: %s is not positive; write a duration such as 5s", timeout.key, timeout.value)
		}
	}
	if s.DrainDelay < 0 {
		m.add("drain_delay: %s is not positive; write a duration such as 5s", s.DrainDelay)
	}
	if s.KeepAttempts > 0 && s.KeepAttempts < leastKeep {
		m.add("keep_attempts: %s is less than %s, in which ranks may still ask how their attempt ended", s.KeepAttempts, leastKeep)
	}
	// The server counts the write timeout from the end of the headers; a shorter one would cut off rightful answers.
	if least := s.ReadTimeout + s.DecisionTimeout; s.WriteTimeout > 0 && s.WriteTimeout <= least {
		m.add("write_timeout: %s leaves no time to write; it must be more than read_timeout and decision_timeout "+
			"together, %s", s.WriteTimeout, least)
	}
}

func (m *mistakes) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		m.add("%s: %q is not one of %s", key, value, strings.Join(allowed, ", "))
	}
}

func (m *mistakes) within(key string, value, least, most Bytes) {
	if value < least || value > most {
		m.add("%s: %s is not between %s and %s", key, value, least, most)
	}
}

func (m *mistakes) positive(key string, value int) {
	if value <= 0 {
		m.add("%s: %d is not positive", key, value)
	}
}
