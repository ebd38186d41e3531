// Package tracing makes spans of requests and sends them to a collector by OTLP. It owns what of a request a span may tell,
// and how spans leave; it must not hold up a request, and neither launches, commands nor credentials go through it.
package tracing
