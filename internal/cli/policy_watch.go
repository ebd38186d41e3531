package cli

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/tiergate/tiergate/policy"
)

// watchInterval is how often the files are read. What changed must stay the same for one interval before the tests run,
// since an editor or a checkout writes several files one after the other.
const watchInterval = 300 * time.Millisecond

// watch runs the tests now and after every change of content, until ctx ends. It looks at content and not at events of
// the file system, because Kubernetes changes a mounted ConfigMap by swapping a symbolic link. It ends with the status
// of the last run.
func (c *policyTestCmd) watch(ctx context.Context, a *app, filter *regexp.Regexp) error {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	ran, seen := "", ""
	var last error
	for ctx.Err() == nil {
		in, err := c.open()
		content := digestOf(in, err)
		if content != ran && (content == seen || ran == "") {
			if err == nil {
				err = c.test(ctx, a.stdout, in, filter)
			}
			if ctx.Err() != nil {
				break
			}
			last = err
			a.end("policy test", last)
			fmt.Fprintln(a.stderr, "waiting for a change; Ctrl-C ends")
			ran = content
		}
		seen = content
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	return statusOf(last).orNil()
}

// digestOf stands for the content; where that cannot be read, for the reason.
func digestOf(in testInput, err error) string {
	if err != nil {
		return err.Error()
	}
	digest, err := policy.ContentDigest(in.sources, in.data)
	if err != nil {
		return err.Error()
	}
	return digest
}
