package runtime

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/runtime/credentials"
)

// DefaultURL is where the service listens by default.
const DefaultURL = "http://127.0.0.1:8642"

// DefaultDeadline is what a registration may take, from the call to the admission.
const DefaultDeadline = time.Minute

// The deadlines that a service takes.
const (
	shortestDeadline = time.Second
	longestDeadline  = time.Hour
)

// Options are what a Gate is made of. Only Engine has no default.
type Options struct {
	// URL is the service: http://host:port, https://host:port, or unix:///path/to/socket; DefaultURL if empty. All
	// ranks of an engine must reach the same service. Proxies of the environment are never used.
	URL string
	// Engine names the engine, the same for all its ranks; see FromEnvironment. It may be empty for engines that need
	// no gate.
	Engine string
	// Deadline is what a registration may take, from 1 s to 1 h; DefaultDeadline if zero. The first rank to report
	// decides for all, but none waits longer than its own.
	Deadline time.Duration
	// Environ is the environment of this process ("KEY=value"), for names of the node and the pod, for
	// credentials, and for the trace that TRACEPARENT names, which requests continue.
	Environ []string
	// Credentials are what the service is shown, and by whom it is believed; those of Environ if all is empty. They are read
	// for each request and connection.
	Credentials credentials.Files
	// Collect finds out where this process runs; nil means Facts(Environ).
	Collect func() v1.NodeFacts
	// Logger gets one line per step; nil means none.
	Logger *slog.Logger
	// Waiting is called with who is missing, about once a second while others are waited for; nil means that nobody
	// looks.
	Waiting func(v1.Progress)
}

// SetDefaults fills in what is empty.
func (o *Options) SetDefaults() {
	if o.URL == "" {
		o.URL = DefaultURL
	}
	if o.Deadline == 0 {
		o.Deadline = DefaultDeadline
	}
	if o.Credentials == (credentials.Files{}) {
		o.Credentials = credentials.FromEnvironment(o.Environ)
	}
	if o.Collect == nil {
		environ := o.Environ
		o.Collect = func() v1.NodeFacts { return Facts(environ) }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Validate reports what no gate could work with. It is for options with their defaults.
func (o *Options) Validate() error {
	if o.Deadline < shortestDeadline || o.Deadline > longestDeadline {
		return fmt.Errorf("deadline is %s, allowed are %s to %s", o.Deadline, shortestDeadline, longestDeadline)
	}
	if o.Collect == nil || o.Logger == nil {
		return errors.New("options lack their defaults")
	}
	a, err := parseURL(o.URL)
	if err != nil || a.socket != "" {
		return err
	}
	u, err := url.Parse(a.base)
	if err != nil {
		return err
	}
	return o.Credentials.Check(u)
}
