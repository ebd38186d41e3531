package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tiergate/tiergate/internal/rendezvous"
	"github.com/tiergate/tiergate/topology/document"
)

// answerWorker takes a worker's document to the rendezvous and brings back a 200 with what the worker waits for, or a 202.
// While it waits it holds its connection and little else.
func answerWorker[T any](
	x *exchange, decode func([]byte, string) (*T, []string, error),
	ask func(context.Context, *call, *T, []string) (answer any, done bool, err error),
) error {
	c, err := x.call()
	if err != nil {
		return err
	}
	ctx, leave, err := x.server.waiting.enter(x.r.Context())
	if err != nil {
		return err
	}
	defer leave()
	document, ignored, err := receive(x, decode)
	if err != nil {
		return err
	}
	x.takeTime()
	span := x.span.Child("rendezvous")
	answer, done, err := ask(ctx, &c, document, ignored) // the document is not used any more while it waits
	span.End()
	x.answerSoon()
	var ended *rendezvous.EndedError
	switch {
	case errors.As(err, &ended):
		x.attempt = &ended.End.Attempt
		return err
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	}
	status := http.StatusOK
	if !done {
		status = http.StatusAccepted
	}
	x.sendDocument(status, c.query, encode(answer))
	return nil
}

// receive reads and decodes a body, as a guest of the queue.
func receive[T any](x *exchange, decode func([]byte, string) (*T, []string, error)) (*T, []string, error) {
	x.place = x.server.queue.guest()
	defer x.place.leave()
	b, err := readBody(x.r, &x.place, min(x.bodyLimit(), document.MaxReportBytes))
	if err != nil {
		return nil, nil, err
	}
	defer b.free()
	ctx, cancel := context.WithTimeout(x.r.Context(), x.server.config.DecisionTimeout)
	defer cancel()
	if err := x.place.wait(ctx, int64(len(b.data)), b.yaml); err != nil {
		return nil, nil, err
	}
	return decode(b.data, b.mediaType)
}

// takeTime lifts the timeouts of reading and writing, which began with the request: an expired read timeout would look like a
// client that is gone. Errors are those of connections that have no timeouts.
func (x *exchange) takeTime() {
	conn := http.NewResponseController(x.w)
	_ = conn.SetReadDeadline(time.Time{})
	_ = conn.SetWriteDeadline(time.Time{})
}

// answerSoon begins the timeout of writing anew.
func (x *exchange) answerSoon() {
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(x.server.config.WriteTimeout))
}
