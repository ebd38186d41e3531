package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"
)

// Request is a POST of a JSON document.
type Request struct {
	// Addr is host:port, Path the target.
	Addr, Path string
	Body       []byte
	// Vary is a run of zeros in Body, e.g. 00000000, in whose place every request has a number of its own, so that no two
	// are equal; empty sends the same request again and again.
	Vary string
}

func (r Request) bytes() []byte {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		r.Path, r.Addr, len(r.Body))
	return append([]byte(head), r.Body...)
}

var (
	errMalformed = errors.New("malformed response")
	errClosing   = errors.New("the server closes connections")
)

// connection sends one request again and again.
type connection struct {
	net.Conn
	in      *bufio.Reader
	request []byte
	// number is the part of request that varies.
	number []byte
}

// sent numbers the requests of the whole process.
var sent atomic.Uint64

// renumber puts the next number into the request.
func (c *connection) renumber() {
	n := sent.Add(1)
	for i := len(c.number) - 1; i >= 0; i-- {
		c.number[i] = byte('0' + n%10)
		n /= 10
	}
}

// dial connects; every read and write after that fails at the deadline.
func dial(ctx context.Context, r Request, deadline time.Time) (*connection, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", r.Addr)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c := &connection{Conn: conn, in: bufio.NewReaderSize(conn, 64<<10), request: r.bytes()}
	if r.Vary != "" {
		at := bytes.Index(c.request, []byte(r.Vary))
		if at < 0 {
			return nil, errors.Join(fmt.Errorf("the request has no %q to vary", r.Vary), conn.Close())
		}
		c.number = c.request[at : at+len(r.Vary)]
	}
	return c, nil
}

// exchange sends the request and reads the response, whose body it appends to keep unless that is nil. Any status but
// 200 is an error.
func (c *connection) exchange(keep *[]byte) error {
	c.renumber()
	if _, err := c.Write(c.request); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	length, chunked, err := c.readHead()
	if err != nil {
		return err
	}
	if !chunked {
		return c.readBody(length, keep)
	}
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(line), 16, 32)
		if err != nil {
			return fmt.Errorf("%w: chunk of size %q", errMalformed, line)
		}
		if err := c.readBody(int(size), keep); err != nil {
			return err
		}
		if _, err := c.line(); err != nil { // Each chunk, and the empty trailer after the last, ends with a line break.
			return err
		}
		if size == 0 {
			return nil
		}
	}
}

var (
	statusOK      = []byte("HTTP/1.1 200 ")
	lengthHeader  = []byte("content-length:")
	chunkedHeader = []byte("transfer-encoding: chunked")
	closeHeader   = []byte("connection: close")
)

func (c *connection) readHead() (length int, chunked bool, err error) {
	status, err := c.line()
	if err != nil {
		return 0, false, err
	}
	if !bytes.HasPrefix(status, statusOK) {
		return 0, false, fmt.Errorf("status line %q, want 200", status)
	}
	length = -1
	for {
		line, err := c.line()
		switch {
		case err != nil:
			return 0, false, err
		case len(line) == 0 && (chunked || length >= 0):
			return length, chunked, nil
		case len(line) == 0:
			return 0, false, fmt.Errorf("%w: no length", errMalformed)
		case hasPrefixFold(line, lengthHeader):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(lengthHeader):]))); err != nil || length < 0 {
				return 0, false, fmt.Errorf("%w: %q", errMalformed, line)
			}
		case hasPrefixFold(line, chunkedHeader):
			chunked = true
		case hasPrefixFold(line, closeHeader):
			return 0, false, errClosing
		}
	}
}

func hasPrefixFold(line, prefix []byte) bool {
	return len(line) >= len(prefix) && bytes.EqualFold(line[:len(prefix)], prefix)
}

// line reads a line without its end. It is valid until the next read.
func (c *connection) line() ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("read response: %w", err)
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

func (c *connection) readBody(length int, keep *[]byte) error {
	for length > 0 {
		part, err := c.in.Peek(min(length, c.in.Size()))
		if err != nil {
			return fmt.Errorf("read response: %w", err)
		}
		if keep != nil {
			*keep = append(*keep, part...)
		}
		length -= len(part)
		if _, err := c.in.Discard(len(part)); err != nil {
			return fmt.Errorf("read response: %w", err)
		}
	}
	return nil
}
