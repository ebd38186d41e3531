package rollout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/policy/bundle"
)

// content is what all sources hold at one time, in memory.
type content struct {
	sources []policy.Source
	data    []byte
	digest  string
}

// origin is one source as it is looked at again and again.
type origin struct {
	path   string
	remote *remote // nil for what is on this machine
	status v1.PolicySource
}

// look reads all sources, and asks servers first if it shall. Every source is tried, so that one error does not hide another;
// a server that cannot be reached leaves what was fetched from it before.
func (r *Rollout) look(ctx context.Context, ask bool) (*content, error) {
	c := &content{}
	var errs []error
	for _, o := range r.origins {
		if o.remote != nil && ask {
			r.note(o, o.remote.ask(ctx, time.Now()))
		}
		source, err := o.read(r.opts.Verification)
		if o.remote == nil {
			r.note(o, err)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.sources = append(c.sources, source)
	}
	if r.put != nil {
		source, err := r.put.open()
		if err != nil {
			errs = append(errs, err)
		}
		c.sources = append(c.sources, source)
	}
	var err error
	if c.data, err = readData(r.opts.DataFile); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, c.seal()
}

// seal computes the digest of the content.
func (c *content) seal() (err error) {
	c.digest, err = policy.ContentDigest(c.sources, c.data)
	return err
}

func (o *origin) read(verification *bundle.Verification) (policy.Source, error) {
	if o.remote == nil {
		return Read(o.path, verification)
	}
	return o.remote.open()
}

func readData(name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, &PathError{name, fmt.Errorf("data: %w", err)}
	}
	return data, nil
}
