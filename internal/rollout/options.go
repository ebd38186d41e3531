package rollout

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"time"

	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/policy/bundle"
)

// The defaults of Options.
const (
	DefaultPoll = 10 * time.Second
	// DefaultTimeout bounds the trial of one candidate, its tests and the stored launches included.
	DefaultTimeout = 5 * time.Minute
)

// Options say where a policy comes from and what it must pass.
type Options struct {
	// Policy is what the engine is made of; its Sources and Data come from Sources and DataFile.
	Policy policy.Options
	// Sources are directories, bundles, files of rules and URLs of bundles. They are looked at every Poll.
	Sources  []string
	DataFile string
	Poll     time.Duration
	// Verification is what the signature of every source must be like; nil asks for none.
	Verification *bundle.Verification
	// TokenFile has a bearer token for the URLs, CAFile vouches for their servers.
	TokenFile, CAFile string
	// StateDir keeps the last good copy of what came over a network; empty keeps none.
	StateDir string
	// LaunchDir has stored launches. Accept names those whose verdicts may flip, each as FILE=OUTCOME.
	LaunchDir string
	Accept    []string
	// Untested leaves out the tests of the sources and the stored launches, for a policy that decides nothing.
	Untested bool
	Timeout  time.Duration
	Logger   *slog.Logger
}

// SetDefaults fills in what is zero.
func (o *Options) SetDefaults() {
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Policy.Now == nil {
		o.Policy.Now = time.Now
	}
}

// Validate reports what no policy could be rolled out with.
func (o *Options) Validate() error {
	var errs []error
	for _, flip := range o.Accept {
		if err := policy.CheckFlip(flip); err != nil {
			errs = append(errs, fmt.Errorf("policy_accept: %w", err))
		}
	}
	for _, given := range []struct{ key, value string }{{"policy_token", o.TokenFile}, {"policy_ca", o.CAFile}} {
		if given.value != "" && !o.remote() {
			errs = append(errs, fmt.Errorf("%s: it is for policies that are fetched, and policy names no URL; leave it out", given.key))
		}
	}
	for _, s := range o.Sources {
		u, err := url.Parse(s)
		switch {
		case !IsURL(s):
		case err != nil || u.Host == "":
			errs = append(errs, errors.New("policy: a URL of a bundle is http(s)://host/path"))
		case u.Scheme == "https" || isLoopback(u.Hostname()):
		case o.TokenFile != "":
			errs = append(errs, fmt.Errorf("policy: the token for %s would cross the network in the open; use https", u.Redacted()))
		case o.Verification == nil:
			errs = append(errs, fmt.Errorf("policy: whoever is between here and %s could change the rules; use https, or verification_key",
				u.Redacted()))
		}
	}
	return errors.Join(errs...)
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (o *Options) remote() bool {
	for _, s := range o.Sources {
		if IsURL(s) {
			return true
		}
	}
	return false
}
