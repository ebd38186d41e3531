package certs

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"
)

// DefaultInterval is how often the files are looked at.
const DefaultInterval = 5 * time.Second

// Options name PEM files. A pair, a CA or both may be given.
type Options struct {
	// Cert and Key are this side's certificate, with those between it and its root, and its key.
	Cert, Key string
	// CA vouches for the other side; for a client without it, the system's own do.
	CA string
	// Interval is how often the files are looked at; 0 means DefaultInterval.
	Interval time.Duration
	Logger   *slog.Logger
}

// Store is certificates as their files say. They are told apart by content, since Kubernetes swaps links, not files. Its
// methods are safe for concurrent use.
type Store struct {
	opts    Options
	current atomic.Pointer[material]
	// said is why the last content was refused, so that it is logged once.
	said string

	reloads, failures, success atomic.Int64
}

// material is what the files held at one time.
type material struct {
	digest [sha256.Size]byte
	pair   *tls.Certificate // nil without one
	pool   *x509.CertPool   // nil without a CA
}

// State is how reloading fares.
type State struct {
	Reloads, Failures int64
	LastSuccess       time.Time
	// NotAfter is when the certificate of this side expires; zero without one.
	NotAfter time.Time
}

// Open reads the files. An error names the file and what is wrong with it.
func Open(opts Options) (*Store, error) {
	if opts.Interval == 0 {
		opts.Interval = DefaultInterval
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{opts: opts}
	m, err := load(&opts, time.Now())
	if err != nil {
		return nil, err
	}
	s.adopt(m)
	return s, nil
}

func (s *Store) adopt(m *material) {
	s.current.Store(m)
	s.success.Store(time.Now().UnixNano())
}

// Run looks at the files until the context ends. What is wrong never replaces what was right: connections go on with the old
// certificate until a whole and valid new one is there.
func (s *Store) Run(ctx context.Context) {
	tick := time.NewTicker(s.opts.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.reload()
		}
	}
}

func (s *Store) reload() {
	m, err := load(&s.opts, time.Now())
	switch {
	case err != nil && err.Error() == s.said:
	case err != nil:
		s.failures.Add(1)
		s.said = err.Error()
		s.opts.Logger.Error("certificates not reloaded; what was read before stays in use", "error", err, "not_after", s.State().NotAfter)
	case m.digest != s.current.Load().digest:
		s.reloads.Add(1)
		s.adopt(m)
		s.said = ""
		s.opts.Logger.Info("certificates reloaded", "cert", s.opts.Cert, "ca", s.opts.CA, "not_after", s.State().NotAfter)
	default:
		s.said = ""
	}
}

// State tells how reloading fares.
func (s *Store) State() State {
	out := State{Reloads: s.reloads.Load(), Failures: s.failures.Load(), LastSuccess: time.Unix(0, s.success.Load())}
	if pair := s.current.Load().pair; pair != nil {
		out.NotAfter = pair.Leaf.NotAfter
	}
	return out
}

// load reads the files and judges them. All files are read before any is judged: with half of a rotation on disk the pair does
// not match, and the next look will find it whole.
func load(opts *Options, now time.Time) (*material, error) {
	m := &material{}
	sum := sha256.New()
	read := func(name string) ([]byte, error) {
		text, err := os.ReadFile(name)
		part := sha256.Sum256(text)
		sum.Write(part[:])
		return text, err
	}
	if opts.Cert != "" {
		cert, err := read(opts.Cert)
		key, keyErr := read(opts.Key)
		if err := errors.Join(err, keyErr); err != nil {
			return nil, fmt.Errorf("read certificate: %w", err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read certificate: %s and %s: %w", opts.Cert, opts.Key, err)
		}
		if now.After(pair.Leaf.NotAfter) {
			return nil, fmt.Errorf("read certificate: %s expired at %s; have a new one issued", opts.Cert, pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
		}
		m.pair = &pair
	}
	if opts.CA != "" {
		text, err := read(opts.CA)
		if err != nil {
			return nil, fmt.Errorf("read CA: %w", err)
		}
		if m.pool = x509.NewCertPool(); !m.pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("read CA: %s has no certificate in PEM", opts.CA)
		}
	}
	sum.Sum(m.digest[:0])
	return m, nil
}
