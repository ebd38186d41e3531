package cli

import (
	"context"
	"os"
	"time"

	"github.com/tiergate/tiergate/internal/config"
	"github.com/tiergate/tiergate/internal/decisionlog"
	"github.com/tiergate/tiergate/policy"
)

// recentDecisions is how much of the decision log administrators can read over REST. Bytes.
const recentDecisions = 8 << 20

// openDecisions starts the decision log that the settings ask for; nil if they ask for none.
func openDecisions(serve *config.Serve, a *app, engine *policy.Engine) (*decisionlog.Log, error) {
	if serve.DecisionLog == "" && !serve.AdminAPI {
		return nil, nil
	}
	opts := decisionlog.Options{
		Spool: serve.DecisionLogSpool, SpoolBytes: int64(serve.DecisionLogSpoolMax), BufferBytes: int64(serve.DecisionLogBuffer),
		Linger: 100 * time.Millisecond, Mask: engine.LogMask, Logger: serve.Logger(a.stderr), Labels: map[string]string{"app": "tiergate", "version": buildVersions().Version},
	}
	if host, err := os.Hostname(); err == nil {
		opts.Labels["host"] = host
	}
	if serve.AdminAPI {
		opts.RecentBytes = recentDecisions
	}
	switch {
	case serve.DecisionLog == "":
		opts.Sink = decisionlog.Discard{}
	case serve.DecisionLog == config.DecisionLogStdout:
		opts.Sink = decisionlog.Stream{W: a.stdout}
	case serve.DecisionLogURL():
		opts.Sink, opts.Linger = decisionlog.NewHTTP(serve.DecisionLog, serve.DecisionLogToken), time.Second
	default:
		file, err := decisionlog.OpenFile(serve.DecisionLog, int64(serve.DecisionLogFileMax), serve.DecisionLogFiles)
		if err != nil {
			return nil, usagef("decision_log: %s", err)
		}
		opts.Sink = file
	}
	log, err := decisionlog.Open(opts)
	if err != nil {
		return nil, usagef("%s", err)
	}
	return log, nil
}

// closeDecisions delivers what waits, in as much time as requests have at the end.
func closeDecisions(log *decisionlog.Log, timeout time.Duration) error {
	if log == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return log.Close(ctx)
}
