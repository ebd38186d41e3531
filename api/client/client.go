// Package client asks a Tiergate service for verdicts. It owns addresses and the wire; it must not judge, and what it
// does not understand of an answer is an error, never an allow.
package client

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
	"net/url"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/runtime/credentials"
)

var (
	// ErrUnreachable: there was no answer, because of the network or because the context ended.
	ErrUnreachable = errors.New("service unreachable")
	// ErrAnswer: what answered is no Tiergate service, or one that this client does not understand.
	ErrAnswer = errors.New("unexpected answer")
)

// maxAnswer is the largest answer that is read: a verdict about 65,536 ranks with all groups to probe, several times
// over.
const maxAnswer = 64 << 20

// Client asks one service. It is safe for concurrent use.
type Client struct {
	base  string
	http  *http.Client
	shown credentials.Files
}

// New is NewWith without credentials.
func New(server string) (*Client, error) { return NewWith(server, credentials.Files{}) }

// NewWith takes what the service is shown, and the address of a service: http://host:port or https://host:port, with a path in front of the service's own
// where a proxy adds one, or unix:///path/to/socket.
func NewWith(server string, shown credentials.Files) (*Client, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, fmt.Errorf("server address %q: %w", server, err)
	}
	switch {
	case u.Scheme == "unix" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
		return &Client{base: "http://tiergate", shown: shown, http: &http.Client{Transport: socket(u.Path)}}, nil
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.Fragment == "":
		if err := shown.Check(u); err != nil {
			return nil, err
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.DialTLSContext = shown.DialTLS(new(net.Dialer).DialContext)
		return &Client{base: strings.TrimSuffix(u.String(), "/"), shown: shown, http: &http.Client{Transport: transport}}, nil
	}
	return nil, fmt.Errorf("server address %q: write http://host:port, https://host:port or unix:///path/to/socket",
		server)
}

// socket dials one unix socket whatever the host of a request.
func socket(path string) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}
}

// Validate asks for the verdict of a launch. A launch that the service does not judge is a *v1.Problem. Other errors
// have ErrUnreachable or ErrAnswer in their chain.
func (c *Client) Validate(ctx context.Context, launch *v1.Launch) (*v1.Verdict, error) {
	text, err := c.ValidateJSON(ctx, launch)
	if err != nil {
		return nil, err
	}
	verdict := new(v1.Verdict)
	if err := json.Unmarshal(text, verdict); err != nil {
		return nil, fmt.Errorf("%w: read verdict: %w", ErrAnswer, err)
	}
	return verdict, nil
}

// ValidateJSON is Validate with the verdict as the service wrote it, so that what only a newer service knows is kept.
func (c *Client) ValidateJSON(ctx context.Context, launch *v1.Launch) ([]byte, error) {
	body, err := json.Marshal(launch)
	if err != nil {
		return nil, fmt.Errorf("write launch: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/validate", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := c.ask(request)
	if err != nil {
		return nil, err
	}
	return answer, known(answer)
}

// ask returns the body of an answer in JSON; a problem is a *v1.Problem.
func (c *Client) ask(request *http.Request) ([]byte, error) {
	if err := c.shown.Authorize(request); err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	var unusable *credentials.Error
	switch {
	case errors.As(err, &unusable):
		return nil, unusable
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("%w: read answer: %w", ErrUnreachable, err)
	}
	return read(response, answer)
}

func read(response *http.Response, answer []byte) ([]byte, error) {
	mediaType, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrAnswer, maxAnswer)
	case response.StatusCode == http.StatusOK && mediaType == "application/json":
		return answer, nil
	case mediaType == "application/problem+json":
		problem := new(v1.Problem)
		if json.Unmarshal(answer, problem) == nil && problem.Code != "" && problem.Status == response.StatusCode {
			return nil, problem
		}
	}
	return nil, fmt.Errorf("%w: %s with content type %q; is this the address of a Tiergate service?",
		ErrAnswer, response.Status, response.Header.Get("Content-Type"))
}

// known makes an error of a verdict without one of the three outcomes, which somebody might take for an allow.
func known(answer []byte) error {
	var verdict struct{ Outcome string }
	if err := json.Unmarshal(answer, &verdict); err != nil {
		return fmt.Errorf("%w: read verdict: %w", ErrAnswer, err)
	}
	switch verdict.Outcome {
	case v1.Allow, v1.Deny, v1.Unknown:
		return nil
	}
	return fmt.Errorf("%w: a verdict with the outcome %.40q", ErrAnswer, verdict.Outcome)
}
