package journal

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// NATS is a journal in a NATS key-value bucket. It is safe for concurrent use.
type NATS struct {
	opts    Options
	local   *local // nil for a cluster
	conn    *nats.Conn
	js      jetstream.JetStream
	bucket  jetstream.Stream
	encoder *zstd.Encoder
	decoder *zstd.Decoder
	*link
}

// Open connects to the journal and makes its bucket where there is none. A bucket of other settings is an error.
func Open(ctx context.Context, opts Options) (*NATS, error) {
	opts.SetDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, opts.Timeout)
	defer cancel()
	j := &NATS{opts: opts, link: newLink()}
	if err := j.open(ctx); err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

func (j *NATS) open(ctx context.Context) error {
	var err error
	if j.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true)); err != nil {
		return err
	}
	if j.decoder, err = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxDecoded), zstd.WithDecoderLowmem(true)); err != nil {
		return err
	}
	options, err := j.connectOptions()
	if err != nil {
		return err
	}
	url := j.opts.URL
	if url == "" {
		if j.local, err = startLocal(j.opts.MaxBytes, j.opts.maxPending, j.opts.Timeout); err != nil {
			return err
		}
		options = append(options, nats.InProcessServer(j.local.server))
	}
	if j.conn, err = nats.Connect(url, options...); err != nil {
		return fmt.Errorf("connect to NATS at %s: %w", j.opts.URL, err)
	}
	if j.js, err = jetstream.New(j.conn); err != nil {
		return err
	}
	j.bucket, err = j.ensure(ctx)
	return err
}

func (j *NATS) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if j.opts.CA != "" {
		pem, err := os.ReadFile(j.opts.CA)
		if err != nil {
			return nil, fmt.Errorf("NATS CA: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("NATS CA: %s has no PEM certificate", j.opts.CA)
		}
	}
	if j.opts.Cert != "" {
		pair, err := tls.LoadX509KeyPair(j.opts.Cert, j.opts.Key)
		if err != nil {
			return nil, fmt.Errorf("NATS client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Solo tells whether no other process can use this journal.
func (j *NATS) Solo() bool { return j.opts.URL == "" }

// Close ends the connection, and the server in this process with all that it holds.
func (j *NATS) Close() {
	if j.conn != nil {
		j.conn.Close()
	}
	j.calls.Wait()
	if j.local != nil {
		j.local.stop()
	}
	if j.decoder != nil {
		j.decoder.Close()
	}
}
