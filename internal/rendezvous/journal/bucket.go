package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// markerLife is how long the bucket tells that a key expired. A watch that was away for longer may have missed that, and
// would keep what all others forgot; inside one process nobody is ever away, and NATS' least of a second saves memory.
const (
	markerLife      = 10 * time.Minute
	localMarkerLife = time.Second
)

// stream is the bucket as the stream that it is. It is made here rather than by the client's key-value layer, because direct
// gets must be off, which that layer always turns on: followers that lag must never answer.
func (j *NATS) stream() jetstream.StreamConfig {
	storage, life := jetstream.FileStorage, markerLife
	if j.Solo() {
		storage, life = jetstream.MemoryStorage, localMarkerLife
	}
	return jetstream.StreamConfig{
		Name: "KV_" + j.opts.Bucket, Subjects: []string{j.prefix() + ">"},
		Storage: storage, Replicas: j.opts.Replicas,
		MaxMsgsPerSubject: 1, MaxBytes: j.opts.MaxBytes, MaxMsgSize: maxPayload, MaxMsgs: -1, MaxConsumers: -1,
		// A full bucket refuses new records, whose writers then fail, and never drops old ones that somebody counts on.
		Discard: jetstream.DiscardNew, AllowRollup: true, DenyDelete: true, AllowDirect: false,
		AllowMsgTTL: true, SubjectDeleteMarkerTTL: life, Duplicates: time.Minute,
	}
}

// prefix begins the subjects of the bucket's keys.
func (j *NATS) prefix() string { return "$KV." + j.opts.Bucket + "." }

// Requests about the bucket are repeated: a cluster that is electing a leader never answers what it was asked before.
const (
	tryTimeout = 5 * time.Second
	tryPause   = 250 * time.Millisecond
)

// persistently asks again while the context allows and the cluster only seems to be starting.
func persistently[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	for {
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		answer, err := ask(try)
		cancel()
		if !passing(err) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-time.After(tryPause):
		}
	}
}

// passing tells errors that a cluster has while it starts from those that last.
func passing(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &api) && (api.ErrorCode == codeNoPeers || api.ErrorCode == codeUnavailable)
}

// ensure makes the bucket, or checks that the one that is there is ours.
func (j *NATS) ensure(ctx context.Context) (jetstream.Stream, error) {
	want := j.stream()
	s, err := persistently(ctx, func(ctx context.Context) (jetstream.Stream, error) {
		s, err := j.js.Stream(ctx, want.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			s, err = j.js.CreateStream(ctx, want)
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was first
				s, err = j.js.Stream(ctx, want.Name)
			}
		}
		return s, err
	})
	if err != nil {
		return nil, j.explain(err)
	}
	if differs := differences(want, s.CachedInfo().Config); len(differs) > 0 {
		return nil, fmt.Errorf("NATS bucket %s is there with other settings (%s); nothing was changed: use another bucket, change the "+
			"settings here, or delete the bucket while no service uses it", j.opts.Bucket, strings.Join(differs, "; "))
	}
	return s, nil
}

// explain adds what to do to the errors that an operator can mend.
func (j *NATS) explain(err error) error {
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api) && (api.ErrorCode == codeTooManyReplicas || api.ErrorCode == codeNoPeers):
		return fmt.Errorf("make NATS bucket %s with %d replicas: %w; allowed are 1, 3 or 5, and as many servers must be there",
			j.opts.Bucket, j.opts.Replicas, err)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("NATS at %s: %w; turn JetStream on in the servers and for this account", j.opts.URL, err)
	}
	return fmt.Errorf("make NATS bucket %s: %w", j.opts.Bucket, err)
}

// The server's errors for more replicas than servers: of one that is alone, and of a cluster, where one may just be away.
const (
	codeTooManyReplicas = 10074
	codeNoPeers         = 10005
	codeUnavailable     = 10008 // nobody leads the cluster
)

// differences lists the settings that a journal cannot do without or that would surprise its operator.
func differences(want, got jetstream.StreamConfig) []string {
	var list []string
	note := func(name string, want, got any) {
		if want != got {
			list = append(list, fmt.Sprintf("%s is %v, wanted %v", name, got, want))
		}
	}
	note("storage", want.Storage, got.Storage)
	note("replicas", want.Replicas, got.Replicas)
	note("direct gets", want.AllowDirect, got.AllowDirect)
	note("history", want.MaxMsgsPerSubject, got.MaxMsgsPerSubject)
	note("discard", want.Discard, got.Discard)
	note("max bytes", want.MaxBytes, got.MaxBytes)
	note("expiry by key", want.AllowMsgTTL, got.AllowMsgTTL)
	note("life of expiry markers", want.SubjectDeleteMarkerTTL, got.SubjectDeleteMarkerTTL)
	return list
}
