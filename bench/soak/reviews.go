//go:build linux

package soak

// Reviews are what an API server asks the webhook.
func Reviews() []Case { return nil }
