package client

import "context"

// Ready returns nil if the service answers launches and workers now. Errors are as for Validate.
func (c *Client) Ready(ctx context.Context) error { return c.get(ctx, "/health/ready", &struct{}{}) }

// Live returns nil if the service answers at all. Errors are as for Validate.
func (c *Client) Live(ctx context.Context) error { return c.get(ctx, "/health/live", &struct{}{}) }
