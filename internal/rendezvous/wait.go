package rendezvous

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// newID is 128 random bits in hex.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails, by its documentation
	return hex.EncodeToString(id[:])
}

// sleep waits for a channel, at most until a time. It is an error only if the context ends.
func sleep(ctx context.Context, done <-chan struct{}, until time.Time) error {
	select { // what is there already needs no timer
	case <-done:
		return nil
	default:
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s *Service) notReady() error {
	return &Error{Code: v1.CodeStore, Detail: "the service has not read its state yet; try again"}
}
