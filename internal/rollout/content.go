package rollout

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	// launches are the stored launches as they were read with the sources, or why they were not.
	launches    map[string][]byte
	launchesErr error
	// trial stands for all that a trial depends on: the same one comes to the same end.
	trial string
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
	return c, r.seal(c)
}

// seal computes the digests of a content and reads the launches that it will be tried on.
func (r *Rollout) seal(c *content) (err error) {
	if c.digest, err = policy.ContentDigest(c.sources, c.data); err != nil {
		return err
	}
	c.launches, c.launchesErr = launchFiles(r.opts.LaunchDir)
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(c.launches)) {
		fmt.Fprintf(sum, "%q %d\n%s", name, len(c.launches[name]), c.launches[name])
	}
	if c.launchesErr != nil {
		fmt.Fprint(sum, c.launchesErr)
	}
	c.trial = c.digest + " " + hex.EncodeToString(sum.Sum(nil))
	return nil
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
	dir, file := filepath.Split(name)
	data, err := readFile(os.DirFS(filepath.Clean(dir)), file, maxFile)
	if err != nil {
		return nil, &PathError{name, fmt.Errorf("data %s: %s", name, reasonOf(err))}
	}
	return data, nil
}
