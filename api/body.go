package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology/document"
)

const (
	// firstBuffer is where a body of unknown length starts.
	firstBuffer = 64 << 10
	// largestKept is the largest buffer that waits for the next request.
	largestKept = 1 << 20
)

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// body is a request's body in a buffer that is used again.
type body struct {
	buffer *[]byte
	data   []byte
	// mediaType is the Content-Type header, yaml what it says.
	mediaType string
	yaml      bool
}

func (b *body) free() {
	if b.buffer != nil && cap(*b.buffer) <= largestKept {
		buffers.Put(b.buffer)
	}
	*b = body{}
}

// readBody reads the whole body. What can be refused by the headers is refused before the client sends it.
func readBody(r *http.Request, p *place, limit int64) (body, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return body{}, &refusal{v1.CodeUnsupportedEncoding, fmt.Sprintf(
			"content encoding %.64q is not read; send the document as it is", encoding)}
	}
	mediaType := r.Header.Get("Content-Type")
	yaml, err := document.IsYAML(mediaType)
	if err != nil {
		return body{}, err
	}
	b, err := readBytes(r, p, limit)
	b.mediaType, b.yaml = mediaType, yaml
	return b, err
}

// readBytes reads the whole body, whatever it is.
func readBytes(r *http.Request, p *place, limit int64) (b body, err error) {
	if r.ContentLength > limit {
		return body{}, tooLarge(strconv.FormatInt(r.ContentLength, 10), limit)
	}
	b.buffer = buffers.Get().(*[]byte)
	if r.ContentLength >= 0 {
		err = b.readKnown(r.Body, p, r.ContentLength)
	} else {
		err = b.readUnknown(r.Body, p, limit)
	}
	if err != nil {
		b.free()
		return body{}, readError(r.Context(), err)
	}
	return b, nil
}

func (b *body) readKnown(from io.Reader, p *place, length int64) error {
	if err := p.reserve(length); err != nil {
		return err
	}
	if int64(cap(*b.buffer)) < length {
		*b.buffer = make([]byte, length+length/4)
	}
	b.data = (*b.buffer)[:length]
	_, err := io.ReadFull(from, b.data)
	return err
}

// readUnknown doubles the buffer, and what is reserved for it, until the body is complete.
func (b *body) readUnknown(from io.Reader, p *place, limit int64) error {
	var length, size int64
	for {
		if length == size {
			size = min(max(2*size, firstBuffer), limit+1)
			if err := b.grow(p, length, size); err != nil {
				return err
			}
		}
		n, err := from.Read((*b.buffer)[length:size])
		length += int64(n)
		switch {
		case length > limit:
			return tooLarge("too many", limit)
		case errors.Is(err, io.EOF):
			b.data = (*b.buffer)[:length]
			return nil
		case err != nil:
			return err
		}
	}
}

// grow makes room for size bytes and keeps the first length.
func (b *body) grow(p *place, length, size int64) error {
	if err := p.reserve(size - p.bytes); err != nil {
		return err
	}
	if int64(cap(*b.buffer)) < size {
		*b.buffer = append(make([]byte, 0, size), (*b.buffer)[:length]...)
	}
	*b.buffer = (*b.buffer)[:size]
	return nil
}

func tooLarge(size string, limit int64) error {
	hint := "raise max_body if launches are this large"
	if limit == document.MaxReportBytes {
		hint = "no worker has so much to say"
	}
	return &document.Error{
		Code: document.CodeTooLarge, Detail: fmt.Sprintf("the body has %s bytes, at most %d are read; %s", size, limit, hint),
	}
}

func readError(ctx context.Context, err error) error {
	var own *refusal
	var doc *document.Error
	switch {
	case errors.As(err, &own), errors.As(err, &doc):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &refusal{v1.CodeBodyTimeout, "the body was not complete at the read timeout; send it without pauses"}
	// The context is asked late, since the HTTP library ends it after every failed read.
	case ctx.Err() != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return ctx.Err()
	default:
		return &refusal{v1.CodeIncompleteBody, "the body ended early or was not framed as HTTP demands: " + err.Error()}
	}
}
