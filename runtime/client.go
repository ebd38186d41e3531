package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/runtime/credentials"
)

// maxAnswer is the largest answer that is read: what a service remembers of the largest engine, several times over.
const maxAnswer = 64 << 20

// address is a parsed service address.
type address struct {
	// base is in front of every path. socket is that of unix addresses, whose base is made up.
	base, socket string
}

func parseURL(text string) (address, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return address{}, fmt.Errorf("service address %q: %w", text, err)
	case u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		return address{base: "http://tiergate", socket: u.Path}, nil
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.Fragment == "":
		return address{base: strings.TrimSuffix(u.String(), "/")}, nil
	}
	return address{}, fmt.Errorf("service address %q: write http://host:port, https://host:port or unix:///path/to/socket",
		text)
}

// client asks one service over one connection that it keeps, for one registration.
type client struct {
	url, base string
	http      *http.Client
	shown     credentials.Files
	// trace is a W3C traceparent, or empty.
	trace string
}

// dial connects to a service. Tests replace it.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

// dialer notices a peer that vanished within a quarter of a minute, and gives one that does not answer up early enough
// for another try.
var dialer = net.Dialer{
	Timeout:         5 * time.Second,
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 3 * time.Second, Count: 3},
}

// newClient uses no proxy: long polls do not survive many of them, and the service is on the node or in the cluster,
// while the proxies that an environment names lead out of it.
func newClient(text string, shown credentials.Files, connect dial) (*client, error) {
	a, err := parseURL(text)
	if err != nil {
		return nil, err
	}
	if connect == nil {
		connect = dialer.DialContext
	}
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, host string) (net.Conn, error) {
			if a.socket != "" {
				network, host = "unix", a.socket
			}
			return connect(ctx, network, host)
		},
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}
	transport.DialTLSContext = shown.DialTLS(connect)
	return &client{url: text, base: a.base, shown: shown, http: &http.Client{Transport: transport, CheckRedirect: noRedirect}}, nil
}

// traceparent is the form of W3C's header: version, trace, parent and flags in hexadecimal.
var traceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceOf is the trace that a process was started in, if its environment names one that is well formed.
func traceOf(environ []string) string {
	for _, entry := range environ {
		if value, found := strings.CutPrefix(entry, "TRACEPARENT="); found && traceparent.MatchString(value) {
			return value
		}
	}
	return ""
}

// noRedirect makes a redirect an answer like any other: what it leads to is not the service that was named.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (c *client) close() { c.http.CloseIdleConnections() }

// transient is a failure after which the same request may be answered.
type transient struct {
	err error
	// after is how long the service asked to wait; 0 if it did not.
	after time.Duration
}

func (e *transient) Error() string { return e.err.Error() }
func (e *transient) Unwrap() error { return e.err }

// send asks once. The error is a *transient, an *EndedError, a *ServiceError, a *credentials.Error or has ErrAnswer in its chain; without one
// the status is 200 or 202. Sent, unless nil, is called as soon as the request was written, in any goroutine.
func (c *client) send(
	ctx context.Context, method, path string, body any, sent func(),
) (status int, answer []byte, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, fmt.Errorf("write request: %w", err)
		}
	}
	if sent != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				sent()
			}
		}})
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, fmt.Errorf("make request: %w", err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.trace != "" {
		request.Header.Set("Traceparent", c.trace)
	}
	request.Header.Set("User-Agent", "tiergate-runtime/"+v1.Protocol)
	if err := c.shown.Authorize(request); err != nil {
		return 0, nil, err
	}
	response, err := c.http.Do(request)
	var unusable *credentials.Error
	if errors.As(err, &unusable) {
		return 0, nil, fmt.Errorf("service %s: %w", c.url, unusable)
	}
	if err != nil {
		return 0, nil, &transient{err: bare(err)}
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return 0, nil, &transient{err: fmt.Errorf("read answer: %w", err)}
	case len(answer) > maxAnswer:
		return 0, nil, c.unexpected("more than %d bytes", maxAnswer)
	}
	return c.classify(response, answer)
}

// bare takes off what *url.Error repeats: the address is named elsewhere.
func bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// classify tells answers from refusals that are final and those that may pass. A gateway that stands for the service is
// no service: its errors pass, as a connection that is refused does.
func (c *client) classify(response *http.Response, answer []byte) (int, []byte, error) {
	status := response.StatusCode
	mediaType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if (status == http.StatusOK || status == http.StatusAccepted) && mediaType == "application/json" {
		return status, answer, nil
	}
	problem := new(v1.Problem)
	coded := mediaType == "application/problem+json" && json.Unmarshal(answer, problem) == nil && problem.Code != ""
	problem.Status = status
	switch {
	case coded && status == http.StatusConflict && problem.End != nil:
		return 0, nil, &EndedError{*problem.End}
	case coded && passes(status), !coded && (passes(status) || status >= http.StatusInternalServerError):
		return 0, nil, &transient{err: c.refusal(response, coded, problem), after: retryAfter(response.Header)}
	default:
		return 0, nil, c.refusal(response, coded, problem)
	}
}

// passes are the statuses of a service that is overloaded, starting or ending.
func passes(status int) bool {
	switch status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusRequestTimeout:
		return true
	}
	return false
}

func (c *client) refusal(response *http.Response, coded bool, problem *v1.Problem) error {
	if coded {
		return &ServiceError{URL: c.url, Problem: problem}
	}
	err := fmt.Errorf("%w: service %s: %s with content type %q; is this the address of a Tiergate service?",
		ErrAnswer, c.url, response.Status, response.Header.Get("Content-Type"))
	if location := response.Header.Get("Location"); location != "" {
		err = fmt.Errorf("%w It redirects to %.200q, which is not followed", err, location)
	}
	return err
}

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// read decodes an answer. What a newer service adds is ignored.
func (c *client) read(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return c.unexpected("what cannot be read: %w", err)
	}
	return nil
}

// unexpected is an answer that is none.
func (c *client) unexpected(format string, args ...any) error {
	return fmt.Errorf("%w: service %s sent "+format, append([]any{ErrAnswer, c.url}, args...)...)
}

// gone tells that the service does not know the attempt any more.
func gone(err error) bool {
	var refused *ServiceError
	return errors.As(err, &refused) && refused.Problem.Status == http.StatusGone
}
