package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options are where spans go and how many there are.
type Options struct {
	// URL is a collector that takes OTLP over HTTP, e.g. http://otel:4318; without a path it is /v1/traces.
	URL string
	// Ratio is the share of requests that begin a trace of their own. Those that continue a caller's do as it says.
	Ratio float64
	// Version is that of this program.
	Version string
	Logger  *slog.Logger
}

// Tracer makes spans. A nil one makes none, at no cost.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
	remote   propagation.TraceContext
}

// Open returns a tracer. The caller closes it.
func Open(opts Options) (*Tracer, error) {
	u, err := url.Parse(opts.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("traces go to an http(s) URL, e.g. http://otel:4318")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(newExporter(u, opts), sdk.WithExportTimeout(exportTime)),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(opts.Ratio))),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer("github.com/tiergate/tiergate")}, nil
}

// Close sends what is left, for as long as the context allows.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send last traces: %w", err)
	}
	return nil
}

// Span is one piece of work. A nil one takes everything and keeps nothing.
type Span struct {
	tracer *Tracer
	ctx    context.Context
	span   trace.Span
}

// Request begins the span of a request, as part of the trace that its headers name.
func (t *Tracer) Request(r *http.Request, route string) *Span {
	if t == nil {
		return nil
	}
	ctx := t.remote.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, r.Method+" "+route, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", r.Method), attribute.String("http.route", route)))
	return &Span{t, ctx, span}
}

// Child begins a span within this one.
func (s *Span) Child(name string) *Span {
	if s == nil {
		return nil
	}
	ctx, span := s.tracer.tracer.Start(s.ctx, name)
	return &Span{s.tracer, ctx, span}
}

// End ends the span.
func (s *Span) End() {
	if s != nil {
		s.span.End()
	}
}

// Text adds an attribute, unless it is empty.
func (s *Span) Text(name, value string) {
	if s != nil && value != "" {
		s.span.SetAttributes(attribute.String(name, value))
	}
}

// Number adds an attribute, unless it is nil.
func (s *Span) Number(name string, value *int64) {
	if s != nil && value != nil {
		s.span.SetAttributes(attribute.Int64(name, *value))
	}
}

// Answered adds the status of a request's answer; those of 500 and above are errors.
func (s *Span) Answered(status int, code string) {
	if s == nil {
		return
	}
	s.span.SetAttributes(attribute.Int("http.response.status_code", status))
	s.Text("tiergate.code", code)
	if status >= http.StatusInternalServerError {
		s.span.SetStatus(codes.Error, code)
	}
}

// TraceID is the trace of the span, if it is one that is kept; for logs.
func (s *Span) TraceID() string {
	if s == nil || !s.span.SpanContext().IsSampled() {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// exportTime bounds one request to the collector.
const exportTime = 10 * time.Second
