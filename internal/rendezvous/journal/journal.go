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

// encryption has the files read anew for every connection, since they are rotated under a process that runs for months.
func (j *NATS) encryption() nats.Option {
	pair := func() (tls.Certificate, error) {
		if j.opts.Cert == "" {
			return tls.Certificate{}, nil
		}
		cert, err := tls.LoadX509KeyPair(j.opts.Cert, j.opts.Key)
		if err != nil {
			return cert, fmt.Errorf("NATS client certificate: %w", err)
		}
		return cert, nil
	}
	roots := func() (*x509.CertPool, error) {
		if j.opts.CA == "" {
			return nil, nil
		}
		pem, err := os.ReadFile(j.opts.CA)
		if err != nil {
			return nil, fmt.Errorf("NATS CA: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("NATS CA: %s has no PEM certificate", j.opts.CA)
		}
		return pool, nil
	}
	return nats.ClientTLSConfig(pair, roots)
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
