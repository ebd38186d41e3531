package api

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/document"
)

// form is how a launch stands in a body.
type form struct {
	decode func(data []byte, mediaType string) (*v1.Launch, error)
	// root is the JSON pointer of the launch.
	root string
}

var (
	bare      = form{decode: document.Launch}
	enveloped = form{decode: document.Input, root: "/input"}
)

// decider answers a launch. The result of an entry point other than the verdict has no outcome.
type decider = func(context.Context, *v1.Launch) (policy.Decision, error)

// judge reads the launch of a request and has it decided. The place is kept until the exchange ends, the turn and the
// buffer are not, so that a slow reader holds up nobody.
func (x *exchange) judge(f form, decide decider) (policy.Decision, error) {
	var err error
	if x.place, err = x.server.queue.enter(); err != nil {
		return policy.Decision{}, err
	}
	b, err := readBody(x.r, &x.place, x.bodyLimit())
	if err != nil {
		return policy.Decision{}, err
	}
	defer b.free()
	ctx, cancel := context.WithTimeout(x.r.Context(), x.server.config.DecisionTimeout)
	defer cancel()
	span, queued := x.span.Child("queue"), time.Now()
	err = x.place.wait(ctx, int64(len(b.data)), b.yaml)
	span.End()
	x.server.metrics.waited.Observe(time.Since(queued).Seconds())
	if err != nil {
		return policy.Decision{}, err
	}
	defer x.place.done()
	if n := bytes.Count(b.data, []byte{'{'}); n > maxObjects {
		return policy.Decision{}, tooManyObjects(n)
	}
	span = x.span.Child("decode")
	launch, err := f.decode(b.data, b.mediaType)
	span.End()
	if err != nil {
		return policy.Decision{}, err
	}
	x.engine = shorten(launch.Engine.ID)
	start := time.Now()
	span = x.span.Child("evaluate")
	d, err := decide(ctx, launch)
	span.End()
	elapsed := time.Since(start)
	x.server.metrics.decided(d, err, elapsed)
	if err != nil {
		return policy.Decision{}, x.locate(err, f, &b)
	}
	x.server.shadow.Try(topology.StageLaunch, launch, d)
	x.record(launch, &d, elapsed, int64(len(b.data)))
	return d, nil
}

// maxObjects is how many objects a launch may have: four for each of the ranks that are judged at most. An empty object
// of two bytes becomes a node of over a hundred, so that the size of a body alone would not bound what decoding takes.
const maxObjects = 4 * topology.MaxRanks

func tooManyObjects(n int) error {
	return &document.Error{
		Code: document.CodeTooLarge,
		Detail: fmt.Sprintf("the document has %d objects, at most %d are read; send a launch per engine",
			n, maxObjects),
	}
}

// locate turns an error about a value of the launch into the problem that says where it stands in the body.
func (x *exchange) locate(err error, f form, b *body) error {
	p := problemOf(x.r.Context(), err)
	if p.Pointer == "" {
		return err
	}
	p.Pointer = f.root + p.Pointer
	if b.yaml {
		if text, err := document.FromYAML(b.data); err == nil {
			p.Line = text.LineOf(p.Pointer)
		}
	}
	return p
}

// shownEngine bounds what a log line repeats of an engine's id. Bytes.
const shownEngine = 128

func shorten(id string) string {
	if len(id) <= shownEngine {
		return id
	}
	return strings.ToValidUTF8(id[:shownEngine], "") + "..."
}
