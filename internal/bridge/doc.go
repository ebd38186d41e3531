// Package bridge offers the runtime to callers that are not written in Go: a request in JSON, an answer in JSON, nothing
// else. It owns the names of requests and errors, which Python's exceptions mirror; it must not decide anything that the
// runtime does not, exit, or read globals.
package bridge
