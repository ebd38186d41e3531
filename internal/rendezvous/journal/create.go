package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tiergate/tiergate/internal/rendezvous"
)

// The limits of a record. Bytes.
const (
	maxValue   = 512 << 10
	maxPayload = 1 << 20
	maxDecoded = 32 << 20
	// packFrom is the size from which a value is compressed; small ones are not worth it.
	packFrom = 4 << 10
)

// codeFull are the server's errors for a bucket, or an account, that can hold no more.
const (
	codeInsufficientResources = 10023
	codeStreamStoreFailed     = 10077
	codeMemoryExceeded        = 10028
	codeStorageExceeded       = 10047
)

const (
	headerEncoding = "Tiergate-Encoding"
	encodingZstd   = "zstd"
)

// Create implements rendezvous.Journal. A lifetime is rounded up to whole seconds, the least that NATS keeps. It fails as soon
// as the context ends or the connection is lost.
func (j *NATS) Create(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	msg := nats.NewMsg(j.prefix() + key)
	msg.Data = value
	if len(value) >= packFrom {
		msg.Data = j.encoder.EncodeAll(value, make([]byte, 0, len(value)/4))
		msg.Header.Set(headerEncoding, encodingZstd)
	}
	if len(msg.Data) > maxValue {
		return fmt.Errorf("record %s takes %d bytes, allowed are %d", key, len(msg.Data), maxValue)
	}
	seconds := (ttl + time.Second - 1) / time.Second
	msg.Header.Set(jetstream.MsgTTLHeader, fmt.Sprintf("%ds", max(seconds, 1)))
	return j.whileUp(ctx, func(ctx context.Context) error { return j.create(ctx, msg) })
}

// create writes a message if its key has none, or one that says that it expired.
func (j *NATS) create(ctx context.Context, msg *nats.Msg) error {
	err := j.publish(ctx, msg, 0)
	if !errors.Is(err, rendezvous.ErrExists) {
		return err
	}
	marker, err := j.marker(ctx, msg.Subject)
	if err != nil {
		return err
	}
	return j.publish(ctx, msg, marker)
}

// publish writes a message if the last one of its key has that sequence, 0 for none.
func (j *NATS) publish(ctx context.Context, msg *nats.Msg, last uint64) error {
	_, err := j.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(last), jetstream.WithRetryAttempts(0))
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		if err != nil {
			return fmt.Errorf("write record: %w", err)
		}
		return nil
	}
	switch api.ErrorCode {
	case jetstream.JSErrCodeStreamWrongLastSequence:
		return rendezvous.ErrExists
	case codeInsufficientResources, codeStreamStoreFailed, codeMemoryExceeded, codeStorageExceeded:
		return fmt.Errorf("write record: the NATS bucket %s is full (at most %d bytes), until records expire: %w", j.opts.Bucket, j.opts.MaxBytes, err)
	}
	return fmt.Errorf("write record: %w", err)
}

// marker is the sequence of the marker that a key expired; ErrExists if the key has a record instead. Servers refuse a
// write also while another one of the same key is under way, which may still fail: then nothing is there, and that is no
// ErrExists.
func (j *NATS) marker(ctx context.Context, subject string) (uint64, error) {
	last, err := j.bucket.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, errors.New("write record: another write of it is under way")
	}
	if err != nil {
		return 0, fmt.Errorf("look whether the record expired: %w", err)
	}
	if !deleted(last.Header) {
		return 0, rendezvous.ErrExists
	}
	return last.Sequence, nil
}

// unpack returns the value of a message.
func (j *NATS) unpack(msg jetstream.Msg) ([]byte, error) {
	switch encoding := msg.Headers().Get(headerEncoding); encoding {
	case "":
		return msg.Data(), nil
	case encodingZstd:
		return j.decoder.DecodeAll(msg.Data(), nil)
	default:
		return nil, fmt.Errorf("encoding %q is not known here", encoding)
	}
}
