//go:build linux

package soak

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

const (
	head = "POST /v1/validate HTTP/1.1\r\nHost: tiergate\r\nContent-Type: application/json\r\n"
	// hold is how long a client keeps what it should give back.
	hold = 8 * time.Second
	// drip is between two bytes of a slow writer.
	drip = 200 * time.Millisecond
	// listenTime is how long a client that has said its last waits for answers.
	listenTime = 15 * time.Second
)

// hello is how a TLS client begins, cut off.
var hello = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x5a", 500)

// acts are all kinds of misconduct. Together they hold a few hundred connections, and too few places of the queue to take the
// service away from everybody else.
var acts = []act{
	{name: "slow headers", clients: 40, do: func(ctx context.Context, c net.Conn) {
		say(c, head+"X-Slow: ")
		dribble(ctx, c, listen(c))
	}},
	{name: "slow body", clients: 40, do: func(ctx context.Context, c net.Conn) {
		say(c, head+"Content-Length: 1000\r\n\r\n{")
		dribble(ctx, c, listen(c))
	}},
	{name: "half-open", clients: 40, do: func(ctx context.Context, c net.Conn) {
		rest(ctx, hold)
		reset(c)
	}},
	{name: "aborted body", clients: 10, do: func(_ context.Context, c net.Conn) {
		say(c, head+`Content-Length: 100000`+"\r\n\r\n"+`{"engine":{"id":"`+strings.Repeat("x", 5000))
	}},
	{name: "aborted body with reset", clients: 10, do: func(_ context.Context, c net.Conn) {
		say(c, head+"Transfer-Encoding: chunked\r\n\r\nffff\r\n{")
		reset(c)
	}},
	{name: "answer not awaited", clients: 10, do: func(_ context.Context, c net.Conn) {
		say(c, head+"Content-Length: 2\r\n\r\n{}")
		reset(c)
	}},
	{name: "headers too large", clients: 4, do: func(ctx context.Context, c net.Conn) {
		last := listen(c)
		say(c, head+strings.Repeat("X-Large: "+strings.Repeat("y", 1000)+"\r\n", 64)+"\r\n")
		until(ctx, last)
	}},
	{name: "body too large", clients: 4, do: func(ctx context.Context, c net.Conn) {
		last := listen(c)
		say(c, head+fmt.Sprintf("Content-Length: %d\r\n\r\n", 100<<20)+strings.Repeat(" ", 1<<20))
		until(ctx, last)
	}},
	{name: "body without end", clients: 2, do: func(ctx context.Context, c net.Conn) {
		last := listen(c)
		say(c, head+"Transfer-Encoding: chunked\r\n\r\n")
		for range 10 {
			say(c, "100000\r\n"+strings.Repeat(" ", 1<<20)+"\r\n")
		}
		until(ctx, last)
	}},
	{name: "framed twice", clients: 4, do: func(ctx context.Context, c net.Conn) {
		last := listen(c)
		say(c, head+"Content-Length: 4\r\nContent-Length: 5\r\n\r\n{}{}{")
		until(ctx, last)
	}},
	{name: "TLS where there is none", clients: 4, target: (*Service).diagnosticTarget, do: garbage(hello)},
	{name: "TLS on a socket", clients: 4, target: func(s *Service) Target { return s.Unix }, do: garbage(hello)},
	{name: "no TLS where there is some", clients: 4, raw: true, do: garbage(head + "Content-Length: 2\r\n\r\n{}")},
	{name: "garbage instead of TLS", clients: 4, raw: true, do: garbage(hello)},
	{name: "garbage for the webhook", clients: 4, raw: true, target: func(s *Service) Target { return s.Webhook }, do: garbage(hello)},
	{name: "half a handshake", clients: 10, raw: true, do: func(ctx context.Context, c net.Conn) {
		say(c, hello[:5])
		rest(ctx, hold)
	}},
	{name: "pipelined junk", clients: 4, do: garbage(strings.Repeat("GET /health HTTP/1.1\r\nHost: t\r\n\r\n", 20) +
		strings.Repeat("\x00\xffPUT \r\n\r\n", 50))},
	{name: "slow reader", clients: 10, do: func(ctx context.Context, c net.Conn) {
		say(c, strings.Repeat("GET /openapi.yaml HTTP/1.1\r\nHost: t\r\n\r\n", 40))
		rest(ctx, hold)
	}},
	{name: "watcher that does not read", clients: 10, do: func(ctx context.Context, c net.Conn) {
		say(c, "GET /v1/engines?watch HTTP/1.1\r\nHost: t\r\n\r\n")
		rest(ctx, hold)
	}},
}

// say writes; what fails shows in the answers.
func say(c net.Conn, text string) { _, _ = io.WriteString(c, text) }

// dribble writes a byte now and then until the other side has enough of it.
func dribble(ctx context.Context, c net.Conn, last <-chan struct{}) {
	for every := time.NewTicker(drip); ; {
		select {
		case <-every.C:
			if _, err := io.WriteString(c, "x"); err != nil {
				until(ctx, last)
				return
			}
		case <-last:
			return
		case <-ctx.Done():
			return
		}
	}
}

// until waits for the last answer.
func until(ctx context.Context, last <-chan struct{}) {
	select {
	case <-last:
	case <-time.After(listenTime):
	case <-ctx.Done():
	}
}

// reset makes closing the connection an abort where that can be told apart.
func reset(c net.Conn) {
	if tcp, ok := c.(*listener).Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// garbage says something and reads what comes of it.
func garbage(text string) func(context.Context, net.Conn) {
	return func(ctx context.Context, c net.Conn) {
		last := listen(c)
		say(c, text)
		until(ctx, last)
	}
}

func (s *Service) diagnosticTarget() Target {
	return Target{Network: "tcp", Address: strings.TrimPrefix(s.diagnostic, "http://")}
}
