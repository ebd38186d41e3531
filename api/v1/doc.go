// Package v1 holds the documents that cross Tiergate's wire: the launch that goes in, the verdict that comes out, and the
// problem that explains a request that could not be answered. It owns names and shapes only; it must not decode, decide
// or import anything else of Tiergate, because the embedded runtime is built from it and the standard library alone.
package v1
