package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/tiergate/tiergate/internal/bridge"
)

// gateCmd is the runtime for a parent process that can load no library: TIERGATE_EXEC=1 in Python. It answers one request.
type gateCmd struct{}

// maxRequest is the largest request that is read: that of a rank of an engine of 8,192 ranks is far smaller.
const maxRequest = 8 << 20

// Run reads a request from standard input and writes its answer. What went wrong is in the answer, so that the status only
// says whether there is one.
func (*gateCmd) Run(ctx context.Context, a *app) error {
	request, err := io.ReadAll(io.LimitReader(a.stdin, maxRequest+1))
	if err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	if len(request) > maxRequest {
		return usagef("the request is larger than the %d bytes that are read", maxRequest)
	}
	log := slog.New(slog.NewTextHandler(a.stderr, nil))
	_, err = fmt.Fprintf(a.stdout, "%s\n", bridge.Do(ctx, request, log))
	return err
}
