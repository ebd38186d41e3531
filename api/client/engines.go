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

// Attempt asks for one attempt of an engine. Errors are as for Validate.
func (c *Client) Attempt(ctx context.Context, engine string, n int64) (*v1.AttemptView, error) {
	path := "/v1/engines/" + url.PathEscape(engine) + "/attempts/" + strconv.FormatInt(n, 10)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	answer, err := c.ask(request)
	if err != nil {
		return nil, err
	}
	view := new(v1.AttemptView)
	if err := json.Unmarshal(answer, view); err != nil {
		return nil, fmt.Errorf("%w: read attempt: %w", ErrAnswer, err)
	}
	return view, nil
}
