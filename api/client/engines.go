package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Engines asks for all engines that the service knows. Errors are as for Validate.
func (c *Client) Engines(ctx context.Context) (*v1.Engines, error) {
	list := new(v1.Engines)
	return list, c.get(ctx, "/v1/engines", list)
}

// Engine asks for an engine with all attempts that are remembered, the last first. Errors are as for Validate.
func (c *Client) Engine(ctx context.Context, engine string) (*v1.EngineView, error) {
	view := new(v1.EngineView)
	return view, c.get(ctx, "/v1/engines/"+url.PathEscape(engine), view)
}

// Attempt asks for one attempt of an engine. Errors are as for Validate.
func (c *Client) Attempt(ctx context.Context, engine string, n int64) (*v1.AttemptView, error) {
	view := new(v1.AttemptView)
	return view, c.get(ctx, "/v1/engines/"+url.PathEscape(engine)+"/attempts/"+strconv.FormatInt(n, 10), view)
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	answer, err := c.ask(request)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("%w: read %s: %w", ErrAnswer, path, err)
	}
	return nil
}
