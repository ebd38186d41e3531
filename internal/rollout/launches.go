package rollout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/lookback"
	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/document"
)

// stored is a launch whose verdict should stay as it is.
type stored struct {
	name   string
	launch *v1.Launch
}

// mediaTypes are those of the files that are launches.
var mediaTypes = map[string]string{".yaml": "application/yaml", ".yml": "application/yaml", ".json": "application/json"}

// maxLaunches bounds the stored launches together. Bytes.
const maxLaunches = 64 << 20

// launchFiles reads the *.yaml, *.yml and *.json files of a directory. Files with .expect. in their names are what somebody
// else expects of the launch beside them.
func launchFiles(dir string) (map[string][]byte, error) {
	if dir == "" {
		return nil, nil
	}
	files, size := map[string][]byte{}, 0
	tree := os.DirFS(settled(dir))
	err := fs.WalkDir(tree, ".", func(p string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && p != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || strings.Contains(p, ".expect.") || mediaTypes[path.Ext(p)] == "":
			return nil
		}
		if files[p], err = readFile(tree, p, maxFile); err != nil {
			return err
		}
		if size += len(files[p]); size > maxLaunches {
			return fmt.Errorf("they have more than %d bytes together, which is what is allowed", maxLaunches)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("policy_launches: read %s: %w", dir, err)
	}
	return files, nil
}

// readLaunches reads launches as validate does.
func readLaunches(files map[string][]byte) (list []stored, err error) {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		launch, err := document.Launch(files[name], mediaTypes[path.Ext(name)])
		if err != nil {
			errs = append(errs, fmt.Errorf("stored launch %s: %w", name, err))
			continue
		}
		list = append(list, stored{name, launch})
	}
	return list, errors.Join(errs...)
}

// compare judges every stored launch by two revisions, at one time, and tells what comes out differently.
func compare(ctx context.Context, active, candidate lookback.Decider, launches []stored, now time.Time) ([]v1.LaunchFlip, error) {
	var flips []v1.LaunchFlip
	for _, s := range launches {
		before, err := outcomeOf(ctx, active, s.launch, now)
		if err != nil {
			return nil, err
		}
		after, err := outcomeOf(ctx, candidate, s.launch, now)
		if err != nil {
			return nil, err
		}
		flip := v1.LaunchFlip{Launch: s.name, From: before.Outcome, To: after.Outcome}
		if before.JSON != nil && after.JSON != nil {
			if flip.Checks, err = lookback.Flips(before.JSON, after.JSON); err != nil {
				return nil, err
			}
		} else if flip.From != flip.To {
			flip.Checks = []v1.Flip{{Check: lookback.VerdictFlip, From: flip.From, To: flip.To}}
		}
		if len(flip.Checks) > 0 {
			flips = append(flips, flip)
		}
	}
	return flips, nil
}

// undecided is the outcome of a launch that a revision has no answer to.
const undecided = "error"

// outcomeOf tells a launch that a revision cannot decide from a trial that has no more time.
func outcomeOf(ctx context.Context, by lookback.Decider, launch *v1.Launch, now time.Time) (policy.Decision, error) {
	d, err := by.DecideAsOf(ctx, now, topology.StageLaunch, launch)
	if ctx.Err() != nil {
		return d, context.Cause(ctx)
	}
	if err != nil {
		return policy.Decision{Outcome: undecided}, nil
	}
	return d, nil
}

// accept marks the flips that somebody named, and tells whether that is all of them.
func accept(flips []v1.LaunchFlip, names []string) bool {
	all := true
	for i := range flips {
		f := &flips[i]
		f.Accepted = slices.Contains(names, f.Launch+"="+f.To)
		all = all && f.Accepted
	}
	return all
}
