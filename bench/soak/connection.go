//go:build linux

package soak

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Target is an address of the service.
type Target struct {
	Network, Address string
	// TLS is how it is spoken to; nil means in the open.
	TLS *tls.Config
}

// connectWithin bounds connecting, with the handshake.
const connectWithin = 10 * time.Second

func (t Target) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	if t.TLS != nil {
		return (&tls.Dialer{Config: t.TLS}).DialContext(ctx, t.Network, t.Address)
	}
	return new(net.Dialer).DialContext(ctx, t.Network, t.Address)
}

// request is a POST with a number of its own each time it is sent.
type request struct {
	text []byte
	// number is where the number stands.
	number int
}

func newRequest(c *Case) request {
	mediaType := "application/json"
	if c.YAML {
		mediaType = "application/yaml"
	}
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: tiergate\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", c.Path, mediaType, len(c.Body))
	text := append([]byte(head), c.Body...)
	return request{text, bytes.Index(text, []byte(vary))}
}

// sent numbers the requests of the whole process.
var sent atomic.Uint64

// write sends the request, from a copy.
func (r request) write(to io.Writer) error {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	text := append((*scratch)[:0], r.text...)
	*scratch = text
	for n, i := sent.Add(1), len(vary)-1; i >= 0 && r.number >= 0; i-- {
		text[r.number+i] = byte('0' + n%10)
		n /= 10
	}
	_, err := to.Write(text)
	return err
}

var scratches = sync.Pool{New: func() any { return new([]byte) }}

// connection sends requests one after the other.
type connection struct {
	net.Conn
	in *bufio.Reader
}

func connect(ctx context.Context, t Target) (*connection, error) {
	conn, err := t.dial(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{conn, bufio.NewReader(conn)}, nil
}

// exchange sends a request and reads the answer into a, both within the time.
func (c *connection) exchange(r request, a *answer, within time.Duration) error {
	if err := c.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	if err := r.write(c); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	if err := a.read(c.in); err != nil {
		return fmt.Errorf("read response: %w", err)
	}
	return nil
}
