package access

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Error says why a request is not taken, with one of the codes of api/v1.
type Error struct {
	Code   string
	Detail string
	// RetryAfter is when an identity that asked too often may ask again.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return e.Detail }

// Options are what a Guard is made of.
type Options struct {
	// File is the access file.
	File   string
	Logger *slog.Logger
}

// Guard tells identities as an access file says.
type Guard struct{}

// Open reads the access file; all its mistakes come in one error.
func Open(context.Context, Options) (*Guard, error) {
	return nil, errors.New("access files are not read yet")
}

// Run reloads until the context ends.
func (g *Guard) Run(ctx context.Context) { <-ctx.Done() }

// Identify tells who asks. Errors are *Error.
func (g *Guard) Identify(*http.Request) (*Identity, error) {
	return nil, &Error{Code: v1.CodeUnauthenticated, Detail: "nobody is known"}
}

// Take counts a request against the limits of an identity. Errors are *Error.
func (g *Guard) Take(*Identity) error { return nil }

// ConnContext keeps what Identify needs to know of a connection.
func ConnContext(ctx context.Context, _ net.Conn) context.Context { return ctx }
