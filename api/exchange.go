package api

import (
	"cmp"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/access"
	"github.com/tiergate/tiergate/internal/tracing"
	"github.com/tiergate/tiergate/policy"
)

// exchange is one request and its answer, with what its log line and the metrics say about it.
type exchange struct {
	server *Server
	route  *route
	w      http.ResponseWriter
	r      *http.Request
	id     string
	start  time.Time
	place  place

	// c is valid until the exchange ends; it has the parameters of the path.
	c echo.Context

	// identity is who asks; nil where nobody needs to be known.
	identity *access.Identity

	// span is nil where requests are not traced.
	span *tracing.Span

	engine string
	// attempt and rank are those of the path; nil where it has none.
	attempt, rank *int64
	decision      policy.Decision
	// admitted is the outcome of an admission.
	admitted string
	status   int
	code     string
	sent     int
	err      error
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// run takes a request through its handler and gives whatever happened a proper end.
func (s *Server) run(rt *route, c echo.Context, handle func(*exchange) error) {
	x := exchanges.Get().(*exchange)
	*x = exchange{server: s, route: rt, w: c.Response().Writer, r: c.Request(), start: time.Now(), c: c}
	x.id = requestID(x.r.Header)
	if rt.level > slog.LevelDebug { // health and metrics are asked every few seconds
		x.span = s.traces.Request(x.r, rt.path)
	}
	defer x.end()
	if err := handle(x); err != nil {
		x.refuse(err)
	}
}

func (x *exchange) end() {
	failure := recover()
	answered := x.status != 0
	if failure != nil {
		x.server.log.Error("handler failed",
			"id", x.id, "route", x.route.path, "panic", failure, "stack", string(debug.Stack()))
		if !answered {
			x.refuse(errHandlerFailed)
		}
	}
	x.place.leave()
	x.server.metrics.answered(x.route, x.status)
	x.report()
	x.endSpan()
	*x = exchange{}
	exchanges.Put(x)
	if failure != nil && answered {
		// The answer has begun; only a broken connection tells the client that it is not whole.
		panic(http.ErrAbortHandler)
	}
}

// report writes the request's log line. It tells of the launch only the engine's id.
func (x *exchange) report() {
	level := x.route.level
	switch {
	case x.status == http.StatusAccepted: // it will be asked again, every half a minute of a wait
		level = slog.LevelDebug
	case x.status >= http.StatusInternalServerError && x.status != http.StatusServiceUnavailable:
		level = slog.LevelError
	}
	if !x.server.log.Enabled(x.r.Context(), level) {
		return
	}
	attrs := make([]slog.Attr, 0, 16)
	attrs = append(attrs,
		slog.String("id", x.id),
		slog.String("method", x.r.Method),
		slog.String("route", x.route.path),
		slog.Int("status", x.status),
		slog.Int64("us", time.Since(x.start).Microseconds()),
		slog.Int64("received", max(x.r.ContentLength, 0)),
		slog.Int("sent", x.sent))
	if trace := x.span.TraceID(); trace != "" {
		attrs = append(attrs, slog.String("trace_id", trace))
	}
	if x.server.access != nil && x.identity != nil {
		attrs = append(attrs, slog.String("identity", x.identity.Name))
	}
	if x.engine != "" {
		attrs = append(attrs, slog.String("engine", x.engine))
	}
	if x.attempt != nil {
		attrs = append(attrs, slog.Int64("attempt", *x.attempt))
	}
	if x.rank != nil {
		attrs = append(attrs, slog.Int64("rank", *x.rank))
	}
	if x.admitted != "" {
		attrs = append(attrs, slog.String("outcome", x.admitted))
	}
	if x.decision.Outcome != "" {
		attrs = append(attrs, slog.String("outcome", x.decision.Outcome), slog.String("revision", x.decision.Revision),
			slog.String("digest", x.decision.Digest))
	}
	if x.code != "" {
		attrs = append(attrs, slog.String("code", x.code))
	}
	if x.err != nil {
		attrs = append(attrs, slog.String("error", x.err.Error()))
	}
	x.server.log.LogAttrs(x.r.Context(), level, "request", attrs...)
}

// endSpan tells of the request what its log line does.
func (x *exchange) endSpan() {
	if x.span == nil {
		return
	}
	x.span.Text("tiergate.request_id", x.id)
	x.span.Text("tiergate.engine", x.engine)
	x.span.Number("tiergate.attempt", x.attempt)
	x.span.Number("tiergate.rank", x.rank)
	x.span.Text("tiergate.outcome", cmp.Or(x.admitted, x.decision.Outcome))
	x.span.Text("tiergate.revision", x.decision.Revision)
	x.span.Answered(x.status, x.code)
	x.span.End()
}

// The header values that do not change between answers.
var (
	typeJSON    = []string{"application/json"}
	typeProblem = []string{"application/problem+json"}
	typeYAML    = []string{"application/yaml"}
	retryAfter  = []string{"1"}
	closing     = []string{"close"}
	upgrade     = []string{"tiergate/" + v1.Protocol}
	upgrading   = []string{"Upgrade"}
)

// send writes a whole answer. Errors are not looked at: they mean that the client is gone.
func (x *exchange) send(status int, contentType []string, body []byte) {
	header := x.w.Header()
	values := []string{strconv.Itoa(len(body)), x.id, x.decision.Outcome}
	header["Content-Type"] = contentType
	header["Content-Length"] = values[0:1:1]
	header[headerID] = values[1:2:2]
	if x.decision.Outcome != "" {
		header[headerOutcome] = values[2:3:3]
	}
	x.status = status
	x.w.WriteHeader(status)
	x.sent, _ = x.w.Write(body)
}
