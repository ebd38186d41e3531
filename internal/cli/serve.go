package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/tiergate/tiergate/api"
	"github.com/tiergate/tiergate/internal/access"
	"github.com/tiergate/tiergate/internal/certs"
	"github.com/tiergate/tiergate/internal/config"
	"github.com/tiergate/tiergate/internal/decisionlog"
	"github.com/tiergate/tiergate/internal/rendezvous/journal"
	"github.com/tiergate/tiergate/internal/rollout"
	"github.com/tiergate/tiergate/internal/tracing"
)

type serveCmd struct {
	settings `embed:""`

	Config string `placeholder:"FILE" help:"Take what neither flags nor variables give from this YAML file."`
}

// settings are config.Serve without its methods: kong would call Validate before the file and the defaults are known.
type settings config.Serve

// Run serves until the context ends. Where it listens is one line of standard output; the log goes to standard error.
func (c *serveCmd) Run(ctx context.Context, a *app) (err error) {
	serve := config.Serve(c.settings)
	if err := serve.Complete(c.Config); err != nil {
		return &usageError{err.Error()}
	}
	defer limitMemory(&serve, a.env)()
	p := parts{config: &serve, app: a}
	defer func() { err = errors.Join(err, p.close()) }()
	opts, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer roll(ctx, p.policies, p.shadow)()
	return c.serve(ctx, a, opts)
}

// lastTraces is how long the end waits for a collector.
const lastTraces = 2 * time.Second

// parts are what a service is made of. They are closed in the other order than they were opened, those that were.
type parts struct {
	config *config.Serve
	app    *app

	policies, shadow *rollout.Rollout
	attempts         *journal.NATS
	decisions        *decisionlog.Log
	traces           *tracing.Tracer
}

func (p *parts) open(ctx context.Context) (opts api.Options, err error) {
	logger := p.config.Logger(p.app.stderr)
	opts = api.Options{Config: *p.config, Logger: logger}
	if opts.Access, err = openAccess(ctx, p.config, logger); err != nil {
		return opts, err
	}
	if p.config.Traces != "" {
		p.traces, err = tracing.Open(tracing.Options{
			URL: p.config.Traces, Ratio: p.config.TraceRatio, Version: buildVersions().Version, Logger: logger,
		})
		if err != nil {
			return opts, usagef("traces: %s", err)
		}
		opts.Traces = p.traces
	}
	if opts.TLS, err = openTLS(p.config, logger); err != nil {
		return opts, err
	}
	if p.policies, err = openPolicies(ctx, p.config, logger); err != nil {
		return opts, err
	}
	if p.shadow, err = openShadow(ctx, p.config, logger); err != nil {
		return opts, err
	}
	c := p.config
	p.attempts, err = journal.Open(ctx, journal.Options{
		URL: c.NATS, Credentials: c.NATSCreds, CA: c.NATSCA, Cert: c.NATSCert, Key: c.NATSKey, Replicas: c.NATSReplicas, Logger: logger,
	})
	if err != nil {
		return opts, fmt.Errorf("open journal of attempts: %w", err)
	}
	if p.decisions, err = openDecisions(p.config, p.app, p.policies.Engine()); err != nil {
		return opts, err
	}
	opts.Engine, opts.Policies, opts.Decisions = p.policies.Engine(), p.policies, p.decisions
	opts.Journal, opts.Solo = p.attempts, p.attempts.Solo()
	if p.shadow != nil {
		opts.Shadow = p.shadow.Engine()
	}
	return opts, nil
}

func (p *parts) close() error {
	err := closeDecisions(p.decisions, p.config.ShutdownTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), lastTraces)
	defer cancel()
	if traced := p.traces.Close(ctx); traced != nil {
		p.config.Logger(p.app.stderr).Warn("traces lost at the end", "error", traced) // they are worth no exit status
	}
	if p.attempts != nil {
		p.attempts.Close()
	}
	for _, r := range []*rollout.Rollout{p.shadow, p.policies} {
		if r != nil {
			_ = r.Close(context.Background()) // the process ends
		}
	}
	return err
}

// openAccess reads who may ask what; nil if the settings name no file.
func openAccess(ctx context.Context, serve *config.Serve, logger *slog.Logger) (*access.Guard, error) {
	if serve.Access == "" {
		return nil, nil
	}
	guard, err := access.Open(ctx, access.Options{File: serve.Access, Logger: logger})
	if err != nil {
		return nil, usagef("access: %s", err)
	}
	return guard, nil
}

// openTLS reads the certificates of the addresses; nil if the settings name none.
func openTLS(serve *config.Serve, logger *slog.Logger) (*certs.Store, error) {
	if serve.TLSCert == "" {
		return nil, nil
	}
	store, err := certs.Open(certs.Options{Cert: serve.TLSCert, Key: serve.TLSKey, CA: serve.TLSClientCA, Logger: logger})
	if err != nil {
		return nil, usagef("tls: %s", err)
	}
	return store, nil
}

func (c *serveCmd) serve(ctx context.Context, a *app, opts api.Options) error {
	server, err := api.New(opts)
	if err != nil {
		return err
	}
	if err := server.Listen(); err != nil {
		return &usageError{err.Error()}
	}
	announce := a.stdout
	if opts.Config.DecisionLog == config.DecisionLogStdout {
		announce = a.stderr // who reads decisions expects nothing else
	}
	fmt.Fprintf(announce, "tiergate listens on %s\n", strings.Join(server.URLs(), ", "))
	return server.Serve(ctx)
}
