// Package api answers launchers and workers over HTTP. It owns routes, listeners, the limits that keep memory and time
// bounded, and the form of errors; it must not judge anything itself, which is package policy's, nor gather workers, which is
// package internal/rendezvous's, nor read documents, which is package topology/document's. The service is described in
// openapi.yaml, and a test holds the two together.
//
// A request that is judged takes these steps, whatever its route: it gets a place or is refused (queue.go), its body is
// read into a buffer that counts against a budget (body.go), it waits for its turn, is decoded and decided (judge.go),
// and the answer is written after the turn has passed on. A deny is an answer, 200; everything else is a v1.Problem.
//
// A worker's request takes the same way as a guest of the queue (worker.go): it holds a place of a gathering from before its
// body until its answer, and nothing else while it waits for other ranks.
package api
