package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tiergate/tiergate/api"
	"github.com/tiergate/tiergate/internal/access"
	"github.com/tiergate/tiergate/internal/certs"
	"github.com/tiergate/tiergate/internal/config"
	"github.com/tiergate/tiergate/internal/rendezvous/journal"
)

type serveCmd struct {
	settings `embed:""`

	Config string `placeholder:"FILE" help:"Take what neither flags nor variables give from this YAML file."`
}

// settings are config.Serve without its methods: kong would call Validate before the file and the defaults are known.
type settings config.Serve

// Run serves until the context ends. Where it listens is one line of standard output; the log goes to standard error.
func (c *serveCmd) Run(ctx context.Context, a *app) error {
	serve := config.Serve(c.settings)
	if err := serve.Complete(c.Config); err != nil {
		return &usageError{err.Error()}
	}
	defer limitMemory(&serve, a.env)()
	policies, err := openPolicies(ctx, &serve, a)
	if err != nil {
		return err
	}
	defer policies.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the process ends
	attempts, err := journal.Open(ctx, journal.Options{
		URL: serve.NATS, Credentials: serve.NATSCreds, CA: serve.NATSCA, Cert: serve.NATSCert, Key: serve.NATSKey, Replicas: serve.NATSReplicas,
		Logger: serve.Logger(a.stderr),
	})
	if err != nil {
		return fmt.Errorf("open journal of attempts: %w", err)
	}
	defer attempts.Close()
	shadow, err := openShadow(ctx, &serve, a)
	if err != nil {
		return err
	}
	if shadow != nil {
		defer shadow.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the process ends
	}
	decisions, err := openDecisions(&serve, a, policies.Engine())
	if err != nil {
		return err
	}
	guard, err := openAccess(ctx, &serve, a)
	if err != nil {
		return errors.Join(err, closeDecisions(decisions, serve.ShutdownTimeout))
	}
	var tls *certs.Store
	if serve.TLSCert != "" {
		if tls, err = certs.Open(certs.Options{Cert: serve.TLSCert, Key: serve.TLSKey, CA: serve.TLSClientCA, Logger: serve.Logger(a.stderr)}); err != nil {
			return errors.Join(usagef("tls: %s", err), closeDecisions(decisions, serve.ShutdownTimeout))
		}
	}
	defer roll(ctx, policies, shadow)()
	opts := api.Options{
		Engine: policies.Engine(), Policies: policies, Journal: attempts, Solo: attempts.Solo(), Config: serve,
		Logger: serve.Logger(a.stderr), Decisions: decisions, Access: guard, TLS: tls,
	}
	if shadow != nil {
		opts.Shadow = shadow.Engine()
	}
	err = c.serve(ctx, a, opts)
	return errors.Join(err, closeDecisions(decisions, serve.ShutdownTimeout))
}

// openAccess reads who may ask what; nil if the settings name no file.
func openAccess(ctx context.Context, serve *config.Serve, a *app) (*access.Guard, error) {
	if serve.Access == "" {
		return nil, nil
	}
	guard, err := access.Open(ctx, access.Options{File: serve.Access, Logger: serve.Logger(a.stderr)})
	if err != nil {
		return nil, usagef("access: %s", err)
	}
	return guard, nil
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
