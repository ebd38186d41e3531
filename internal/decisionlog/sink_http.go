package decisionlog

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// HTTP is a sink that posts batches as OPA does: a gzipped JSON array of events.
type HTTP struct {
	url string
	// token is a file with a bearer token, read for each batch so that it can be renewed; empty sends none.
	token  string
	client *http.Client
}

// requestTimeout bounds one post.
const requestTimeout = 30 * time.Second

// NewHTTP returns a sink that posts to a URL.
func NewHTTP(url, token string) *HTTP {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &HTTP{url, token, &http.Client{Transport: transport, Timeout: requestTimeout}}
}

func (h *HTTP) Write(ctx context.Context, lines []byte) error {
	var body bytes.Buffer
	compress := gzip.NewWriter(&body)
	_, _ = compress.Write([]byte{'['}) // a buffer takes all
	_, _ = compress.Write(bytes.ReplaceAll(bytes.TrimSuffix(lines, []byte{'\n'}), []byte{'\n'}, []byte{',', '\n'}))
	_, _ = compress.Write([]byte{']'})
	_ = compress.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, &body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Content-Encoding", "gzip")
	if h.token != "" {
		token, err := os.ReadFile(h.token)
		if err != nil {
			return fmt.Errorf("read token: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	response, err := h.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be used again
	return answerError(response.StatusCode)
}

// answerError sorts statuses into those that a later try may change and those that it will not. Those of a missing credential
// or a wrong path get better when somebody corrects the collector.
func answerError(status int) error {
	switch {
	case status/100 == 2:
		return nil
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge, status == http.StatusUnsupportedMediaType,
		status == http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: status %d", ErrRefused, status)
	}
	return fmt.Errorf("status %d", status)
}

// Close ends idle connections.
func (h *HTTP) Close() error {
	h.client.CloseIdleConnections()
	return nil
}
