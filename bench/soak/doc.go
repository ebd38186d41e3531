// Package soak loads one `tiergate serve` with twice what it can do, for minutes, beside clients that misbehave and while
// its policy changes every second, and then looks whether anything is left of it. It owns the load, the clients, and the
// requirements with their limits; it must not excuse an answer: every launch and every engine has one right outcome.
//
// The service and this program have processors of their own where there are two or more, so that an open load costs the
// service nothing but what it has to answer. What the service can do is measured in the same run, which makes the ratios
// worth something on a busy machine too.
package soak
