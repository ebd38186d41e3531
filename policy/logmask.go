package policy

import (
	"context"
	"strings"
)

// LogSettings say what is kept of decisions.
type LogSettings struct {
	// Mask are JSON pointers into a record of the decision log, below /input or /result; * stands for every member. What is
	// there is erased before it leaves the process.
	Mask []string `json:"mask"`
}

func (a *applier) mask(s LogSettings) []string {
	for _, pointer := range s.Mask {
		if !strings.HasPrefix(pointer, "/input/") && !strings.HasPrefix(pointer, "/result/") {
			a.refuse("data.settings.decision_log.mask: %q is no pointer below /input or /result; write e.g. /input/nodes/*/ip", pointer)
		}
	}
	return s.Mask
}

// LogMask are the JSON pointers of what the policy in force wants erased from decision logs.
func (e *Engine) LogMask() []string {
	s, err := e.acquire()
	if err != nil {
		return nil
	}
	defer s.release(context.Background()) //nolint:errcheck // as in Info
	return s.mask
}
