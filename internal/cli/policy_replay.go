package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tiergate/tiergate/internal/cli/output"
	"github.com/tiergate/tiergate/internal/lookback"
	"github.com/tiergate/tiergate/policy"
)

type policyReplayCmd struct {
	policyFlags

	Log    string `arg:"" help:"A decision log: JSON lines; - is standard input."`
	Output string `short:"o" env:"-" enum:"text,json,yaml" default:"text" help:"Write text, json or yaml."`
}

// Help is shown by --help.
func (policyReplayCmd) Help() string {
	return `Every launch of the log is decided again, at its own time, and what comes out differently is counted by check and
direction. A record of the very same revision must come to its own digest.

Exit status: 0 nothing flips, 1 something flips, 2 the log or the policy cannot be read, 5 a record of this revision came to
another verdict, or a launch cannot be decided.`
}

// Run replays the log.
func (c *policyReplayCmd) Run(ctx context.Context, a *app) error {
	log := a.stdin
	if c.Log != "-" {
		file, err := os.Open(c.Log)
		if err != nil {
			return usagef("read decision log: %s", err)
		}
		defer file.Close()
		log = file
	}
	opts, err := c.options()
	if err != nil {
		return err
	}
	opts.Instances = 0 // one for each processor
	engine, err := policy.New(ctx, opts)
	if err != nil {
		return err
	}
	defer engine.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the process ends
	info, err := engine.Info()
	if err != nil {
		return err
	}
	summary, err := lookback.Replay(ctx, info.Revision, engine, log)
	var unreadable *lookback.UnreadableError
	switch {
	case errors.As(err, &unreadable):
		return usagef("%s: %s", c.Log, err)
	case err != nil:
		return err
	}
	if c.Output != output.Text {
		err = output.WriteDocuments(a.stdout, c.Output, []any{summary})
	} else {
		err = writeReplay(a.stdout, summary)
	}
	if err != nil {
		return err
	}
	return replayStatus(summary).orNil()
}

func replayStatus(s *lookback.Summary) Status {
	switch {
	case len(s.Mismatches) > 0, len(s.Failed) > 0:
		return StatusInternal
	case s.Flipped > 0:
		return StatusDeny
	}
	return StatusAllow
}

func writeReplay(w io.Writer, s *lookback.Summary) error {
	for _, f := range s.Flips {
		fmt.Fprintf(w, "%s: %s -> %s, %d (e.g. %s)\n", f.Check, f.From, f.To, f.Count, strings.Join(f.Examples, ", "))
	}
	for _, failed := range s.Failed {
		fmt.Fprintf(w, "cannot be decided: %s\n", failed)
	}
	for _, mismatch := range s.Mismatches {
		fmt.Fprintf(w, "another verdict under the same revision: %s\n", mismatch)
	}
	if s.Masked > 0 {
		fmt.Fprintf(w, "%d launches of this revision lack what was masked, so that their digests cannot be compared\n", s.Masked)
	}
	_, err := fmt.Fprintf(w, "%d of %d launches come out differently under revision %s; %d verified, %d records without a launch\n",
		s.Flipped, s.Replayed, s.Revision, s.Verified, s.Skipped)
	return err
}
