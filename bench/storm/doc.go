// Package storm sends the registrations of many engines at one service and holds every answer against the right one. It
// owns workers that speak the wire without a runtime, so that thousands fit into one process; it must not judge how fast
// is fast enough.
package storm
