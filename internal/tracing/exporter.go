package tracing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// exporter sends spans in OTLP's JSON over HTTP. The library's own exporter brings gRPC along, seven megabytes for two types.
type exporter struct {
	url     string
	shown   string // the URL without a password
	version string
	http    *http.Client
	log     *slog.Logger

	mu      sync.Mutex
	failing bool
}

func newExporter(u *url.URL, opts Options) *exporter {
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &exporter{url: u.String(), shown: u.Redacted(), version: opts.Version, http: &http.Client{Timeout: exportTime}, log: log}
}

// ExportSpans sends a batch. What cannot be sent is lost: the library does not keep it, and traces are worth no memory.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	text, err := json.Marshal(e.request(spans))
	if err != nil {
		return err
	}
	err = e.send(ctx, text)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil && !e.failing:
		e.log.Warn("traces cannot be sent", "url", e.shown, "error", err)
	case err == nil && e.failing:
		e.log.Info("traces are sent again", "url", e.shown)
	}
	e.failing = err != nil
	return nil // it has been told
}

func (e *exporter) send(ctx context.Context, text []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := e.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20)) // so that the connection is used again
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %s", response.Status)
	}
	return nil
}

// Shutdown has nothing to wait for.
func (e *exporter) Shutdown(context.Context) error {
	e.http.CloseIdleConnections()
	return nil
}

// The parts of an ExportTraceServiceRequest, as OTLP's JSON has them: ids in hexadecimal, times as texts.
type (
	keyValue struct {
		Key   string   `json:"key"`
		Value anyValue `json:"value"`
	}
	anyValue struct {
		Text   *string `json:"stringValue,omitempty"`
		Number *string `json:"intValue,omitempty"`
	}
	spanData struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		ParentID   string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []keyValue  `json:"attributes,omitempty"`
		Status     *statusData `json:"status,omitempty"`
	}
	statusData struct {
		Code    int    `json:"code"`
		Message string `json:"message,omitempty"`
	}
	attributes struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope map[string]string `json:"scope"`
		Spans []spanData        `json:"spans"`
	}
	resourceSpans struct {
		Resource   attributes   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	exportRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
)

func (e *exporter) request(spans []sdk.ReadOnlySpan) exportRequest {
	list := make([]spanData, len(spans))
	for i, s := range spans {
		list[i] = dataOf(s)
	}
	resource := attributes{[]keyValue{textValue("service.name", "tiergate"), textValue("service.version", e.version)}}
	scope := scopeSpans{Scope: map[string]string{"name": "github.com/tiergate/tiergate"}, Spans: list}
	return exportRequest{[]resourceSpans{{resource, []scopeSpans{scope}}}}
}

func textValue(key, value string) keyValue { return keyValue{key, anyValue{Text: &value}} }

// statusError is OTLP's code of an error; the library numbers it otherwise.
const statusError = 2

func dataOf(s sdk.ReadOnlySpan) spanData {
	out := spanData{
		TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(), Kind: int(s.SpanKind()),
		Start: strconv.FormatInt(s.StartTime().UnixNano(), 10), End: strconv.FormatInt(s.EndTime().UnixNano(), 10),
	}
	if s.Parent().SpanID().IsValid() {
		out.ParentID = s.Parent().SpanID().String()
	}
	for _, a := range s.Attributes() {
		if a.Value.Type() == attribute.INT64 {
			number := strconv.FormatInt(a.Value.AsInt64(), 10)
			out.Attributes = append(out.Attributes, keyValue{string(a.Key), anyValue{Number: &number}})
			continue
		}
		out.Attributes = append(out.Attributes, textValue(string(a.Key), a.Value.String()))
	}
	if st := s.Status(); st.Code == codes.Error {
		out.Status = &statusData{statusError, st.Description}
	}
	return out
}
