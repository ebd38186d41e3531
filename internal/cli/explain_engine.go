package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tiergate/tiergate/api/client"
	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/cli/output"
)

// engineFlags are for looking at an attempt of an engine instead of a launch.
type engineFlags struct {
	credentialFlags
	Engine  string `env:"-" placeholder:"ID" help:"Look at an attempt of this engine at the service."`
	Server  string `placeholder:"URL" help:"Where the engine's workers report: http://, https:// or unix://."`
	URL     string `name:"url" hidden:"" help:"As --server; TIERGATE_URL is what workers have."`
	Attempt int64  `env:"-" placeholder:"N" help:"Look at this attempt. Default: the last."`
}

// run shows one attempt. The status is that of its admission; an open attempt is unknown, one that ended without an admission
// timed out.
func (f *engineFlags) run(ctx context.Context, a *app, format string, style output.Style) error {
	server := cmp.Or(f.Server, f.URL)
	if server == "" {
		return usagef("--engine needs --server URL, where the engine's workers report, or TIERGATE_URL")
	}
	c, err := client.NewWith(server, f.files())
	if err != nil {
		return &usageError{err.Error()}
	}
	engine, err := c.Engine(ctx, f.Engine)
	if err != nil {
		return err
	}
	at := 0
	if f.Attempt != 0 {
		at = slices.IndexFunc(engine.Attempts, func(v v1.AttemptView) bool { return v.Attempt == f.Attempt })
	}
	if at < 0 || at >= len(engine.Attempts) {
		return usagef("engine %s has no attempt %d; remembered are %s", f.Engine, f.Attempt, attemptNumbers(engine.Attempts))
	}
	view := engine.Attempts[at]
	if format != output.Text {
		err = output.WriteDocuments(a.stdout, format, []any{view})
	} else {
		others := slices.Delete(slices.Clone(engine.Attempts), at, at+1)
		err = output.ExplainAttempt(a.stdout, style, output.Attempt{View: &view, Others: others, Now: time.Now()})
	}
	if err != nil {
		return err
	}
	return attemptStatus(&view).orNil()
}

func attemptNumbers(list []v1.AttemptView) string {
	numbers := make([]string, len(list))
	for i, v := range list {
		numbers[i] = strconv.FormatInt(v.Attempt, 10)
	}
	return strings.Join(numbers, ", ")
}

func attemptStatus(view *v1.AttemptView) Status {
	switch {
	case view.Admission != nil && view.Admission.Outcome == v1.Allow:
		return StatusAllow
	case view.Admission != nil:
		return StatusDeny
	case view.End != nil:
		return StatusTimeout
	default:
		return StatusUnknown
	}
}
