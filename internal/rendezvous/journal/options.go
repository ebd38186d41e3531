package journal

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// The defaults of Options.
const (
	DefaultBucket   = "tiergate"
	DefaultMaxBytes = 512 << 20
	DefaultReplicas = 3
	DefaultTimeout  = 30 * time.Second
)

// Options say where the journal is.
type Options struct {
	// URL is a NATS server or several, separated by commas: nats://host:4222, tls://host:4222. Empty means a server in this
	// process.
	URL string
	// Credentials is a NATS credentials file; CA verifies the servers; Cert and Key are this client's pair. PEM files.
	Credentials, CA, Cert, Key string
	// Bucket is the name of the key-value bucket, which services of one cluster share.
	Bucket string
	// Replicas is how many servers of a cluster keep each record: 1, 3 or 5.
	Replicas int
	// MaxBytes bounds what the bucket holds. Beyond it nothing can be written until records expire.
	MaxBytes int64
	// Timeout is for connecting and for making the bucket.
	Timeout time.Duration
	// Logger hears when the connection is lost and when it is back. None by default.
	Logger *slog.Logger
	// maxPending is what the server in this process lets wait for a connection before it cuts it off; 0 means NATS' 64 MiB.
	// Only tests change it.
	maxPending int64
}

// SetDefaults fills in what is zero.
func (o *Options) SetDefaults() {
	if o.Bucket == "" {
		o.Bucket = DefaultBucket
	}
	if o.Replicas == 0 {
		o.Replicas = DefaultReplicas
	}
	if o.URL == "" {
		o.Replicas = 1
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// Validate reports all that no journal can be opened with.
func (o *Options) Validate() error {
	var errs []error
	mistake := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.URL == "" && (o.Credentials != "" || o.CA != "" || o.Cert != "" || o.Key != "") {
		mistake("credentials and certificates are for a NATS cluster: give its URL, or leave them out")
	}
	if (o.Cert == "") != (o.Key == "") {
		mistake("a client certificate needs its key, and a key its certificate: give both files, or neither")
	}
	if !slices.Contains([]int{1, 3, 5}, o.Replicas) {
		mistake("%d replicas: allowed are 1, 3 and 5", o.Replicas)
	}
	if strings.Trim(o.Bucket, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		mistake("bucket %q: allowed are letters, digits, - and _", o.Bucket)
	}
	if o.MaxBytes < maxValue {
		mistake("the bucket may hold %d bytes, the least is %d", o.MaxBytes, maxValue)
	}
	return errors.Join(errs...)
}
