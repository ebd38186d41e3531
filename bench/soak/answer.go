//go:build linux

package soak

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// answer is what is read of a response. Its memory is used again, so that reading costs the service's machine little.
type answer struct {
	status     int
	outcome    string
	retryAfter bool
	// last means that the server closes the connection.
	last bool
	body []byte
}

var errMalformed = errors.New("malformed")

// read reads a response that says how long it is, as all answers to the requests of a corpus do.
func (a *answer) read(in *bufio.Reader) error {
	*a = answer{body: a.body[:0]}
	line, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return fmt.Errorf("%w: status line %q", errMalformed, line)
	}
	if a.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return fmt.Errorf("%w: status line %q", errMalformed, line)
	}
	length := -1
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		name, value, found := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(": "))
		if !found {
			break
		}
		switch strings.ToLower(string(name)) {
		case "content-length":
			if length, err = strconv.Atoi(string(value)); err != nil {
				return fmt.Errorf("%w: length %q", errMalformed, value)
			}
		case "tiergate-outcome":
			a.outcome = string(value)
		case "retry-after":
			a.retryAfter = true
		case "connection":
			a.last = string(value) == "close"
		}
	}
	if length < 0 {
		return fmt.Errorf("%w: no length", errMalformed)
	}
	if cap(a.body) < length {
		a.body = make([]byte, length)
	}
	a.body = a.body[:length]
	_, err = io.ReadFull(in, a.body)
	return err
}
