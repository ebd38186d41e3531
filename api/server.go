package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tiergate/tiergate/internal/access"
	"github.com/tiergate/tiergate/internal/certs"
	"github.com/tiergate/tiergate/internal/config"
	"github.com/tiergate/tiergate/internal/decisionlog"
	"github.com/tiergate/tiergate/internal/lookback"
	"github.com/tiergate/tiergate/internal/rendezvous"
	"github.com/tiergate/tiergate/internal/rollout"
	"github.com/tiergate/tiergate/internal/tracing"
	"github.com/tiergate/tiergate/policy"
)

// Options are what a Server is made of.
type Options struct {
	// Engine decides. The server does not close it.
	Engine *policy.Engine
	// Journal keeps the attempts of engines. The server does not close it. Solo tells that no other process uses it.
	Journal rendezvous.Journal
	Solo    bool
	// Config is where and within which limits the server runs; zero values mean the defaults.
	Config config.Serve
	// Logger takes a line per request; nil takes none.
	Logger *slog.Logger
	// Decisions keeps a record of every verdict and admission; nil keeps none. The server does not close it.
	Decisions *decisionlog.Log
	// TLS has the certificates of the host:port addresses; nil speaks plain HTTP. The server runs it.
	TLS *certs.Store
	// Traces takes spans; nil takes none. The server does not close it.
	Traces *tracing.Tracer
	// Access tells who asks; nil lets everybody who can connect ask what no administrator is needed for. The server runs it.
	Access *access.Guard
	// Policies keep Engine at what its sources say, and take what administrators send; nil leaves it as it is. The server does
	// not run them.
	Policies *rollout.Rollout
	// Shadow is a candidate policy that is tried on every launch, without effect; nil tries none. The server does not close it.
	Shadow *policy.Engine
}

// Server answers launchers and workers.
type Server struct {
	engine     *policy.Engine
	rendezvous *rendezvous.Service
	config     config.Serve
	log        *slog.Logger
	queue      *queue
	// waiting are calls of workers, watching those who look on.
	waiting, watching *gathering
	metrics           *metrics
	registry          *prometheus.Registry
	decisions         *decisionlog.Log
	access            *access.Guard
	tls               *certs.Store
	traces            *tracing.Tracer
	policies          *rollout.Rollout
	shadow            *lookback.Shadow
	routes            []*route
	heartbeat         time.Duration

	main, diagnostic, webhook http.Handler

	listeners []listener
	draining  atomic.Bool
}

// New returns a server that does not listen yet. It reports all mistakes of the configuration.
func New(opts Options) (*Server, error) {
	switch {
	case opts.Engine == nil:
		return nil, errors.New("a server needs a policy engine")
	case opts.Journal == nil:
		return nil, errors.New("a server needs a journal")
	}
	opts.Config.SetDefaults()
	if err := opts.Config.Validate(); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{engine: opts.Engine, config: opts.Config, log: opts.Logger, routes: routes(), heartbeat: heartbeat}
	s.tls, s.traces = opts.TLS, opts.Traces
	s.decisions, s.access, s.policies = opts.Decisions, opts.Access, opts.Policies
	s.metrics, s.registry = newMetrics(opts.Engine)
	s.queue = newQueue(s.config.MaxRequests, int64(s.config.MaxBodies), int64(s.config.MaxBody), s.metrics.refused)
	s.waiting = newGathering(s.config.MaxWaiting, reasonWaiting, s.queue)
	s.watching = newGathering(maxWatching, reasonWatching, s.queue)
	if err := s.meet(opts); err != nil {
		return nil, err
	}
	s.registry.MustRegister(s.queue.gauges()...)
	s.registry.MustRegister(s.attemptGauges()...)
	s.registry.MustRegister(s.decisionCounters()...)
	if s.policies != nil {
		s.registry.MustRegister(rolloutMetrics(s.policies)...)
	}
	if s.tls != nil {
		s.registry.MustRegister(certificateMetrics(s.tls)...)
	}
	if s.access != nil {
		s.registry.MustRegister(accessMetrics(s.access)...)
	}
	if opts.Shadow != nil {
		s.follow(opts.Shadow)
	}
	for _, rt := range s.routes {
		rt.succeeded = s.metrics.requests.WithLabelValues(rt.path, rt.method, "200")
	}
	apart := opts.Config.DiagnosticAddr != ""
	s.main = s.handler(false, func(rt *route) bool { return !apart || rt.path != metricsPath })
	s.diagnostic = s.handler(true, func(rt *route) bool { return rt.diagnostic })
	if s.config.Pprof {
		s.diagnostic = withProfiles(s.diagnostic)
	}
	s.webhook = s.handler(true, func(rt *route) bool { return rt.webhook })
	return s, nil
}

// Handler serves the routes of the main addresses, for those who bring a server of their own. Workers are admitted only
// while Serve runs.
func (s *Server) Handler() http.Handler { return s.main }

// httpServer is a server with all limits set; net/http's own defaults have none.
func (s *Server) httpServer(h http.Handler, base context.Context) *http.Server {
	return &http.Server{
		Handler:           h,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       access.ConnContext,
		ReadHeaderTimeout: s.config.ReadHeaderTimeout,
		ReadTimeout:       s.config.ReadTimeout,
		WriteTimeout:      s.config.WriteTimeout,
		IdleTimeout:       s.config.IdleTimeout,
		MaxHeaderBytes:    int(s.config.MaxHeader),
		ErrorLog:          log.New(connectionLog{s.log}, "", 0),
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){}, // see certs.Store.Server
	}
}

// connectionLog takes what the HTTP library says of connections. That somebody speaks no TLS is no news: scanners and probes
// do, all day.
type connectionLog struct{ log *slog.Logger }

func (c connectionLog) Write(text []byte) (int, error) {
	level := slog.LevelWarn
	if bytes.Contains(text, []byte("TLS handshake error")) {
		level = slog.LevelDebug
	}
	c.log.Log(context.Background(), level, string(bytes.TrimSpace(text)))
	return len(text), nil
}
