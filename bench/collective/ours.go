package collective

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/bench"
	"github.com/tiergate/tiergate/e2e/worker"
)

const transfer = `{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {
	"spec_name": "TieringOffloadingSpec", "cpu_bytes_to_use": 1048576, "secondary_tiers": [{"type": "fs", "root_dir": "/mnt/kv"}]}}`

// deadline of a registration; it is never reached.
const deadline = 30 * time.Second

// Ours measures rounds of the check at the service of url. This program must call worker.Main first of all, because the
// ranks are copies of it. The first round, which warms up, does not count.
func Ours(ctx context.Context, url string, grid Grid, rounds int) (row Row, err error) {
	row.Grid = grid
	self, err := os.Executable()
	if err != nil {
		return row, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ranks := make([]*rank, 0, grid.World())
	defer func() {
		cancel() // it kills those that are left after a failure
		for _, r := range ranks {
			err = errors.Join(err, r.end())
		}
	}()
	for i := range grid.World() {
		r, err := startRank(ctx, self, worker.Spec{
			URL: url, Rank: int64(i), DeadlineMS: deadline.Milliseconds(), Rounds: rounds + 1, Engine: v1.Engine{
				ID: "engine-" + grid.String(), Version: "0.33.0", Executor: "ray", KVTransfer: json.RawMessage(transfer),
				Parallel: &v1.Parallel{Tensor: &grid.Tensor, Pipeline: &grid.Pipeline, PrefillContext: &grid.PrefillContext},
			},
		})
		if err != nil {
			return row, err
		}
		ranks = append(ranks, r)
	}
	var whole, exchange []time.Duration
	for range rounds + 1 {
		w, e, err := round(ranks)
		if err != nil {
			return row, err
		}
		whole, exchange = append(whole, w), append(exchange, e)
	}
	row.Whole, row.Exchange = bench.Median(whole[1:]), bench.Median(exchange[1:])
	return row, nil
}

// round lets all ranks register at once.
func round(ranks []*rank) (whole, exchange time.Duration, err error) {
	for _, r := range ranks {
		if _, err := r.in.Write([]byte("\n")); err != nil {
			return 0, 0, fmt.Errorf("start a round: %w", err)
		}
	}
	var called, sent, admitted int64
	for i, r := range ranks {
		var result worker.Result
		if err := r.out.Decode(&result); err != nil {
			return 0, 0, fmt.Errorf("read the result of rank %d: %w", i, err)
		}
		if result.Kind != "admitted" {
			return 0, 0, fmt.Errorf("rank %d of one machine was not admitted: %s", i, result.Error)
		}
		called, sent, admitted = max(called, result.Called), max(sent, result.Sent), max(admitted, result.Admitted)
	}
	return time.Duration(admitted - called), time.Duration(admitted - sent), nil
}

// rank is a worker process that waits for rounds.
type rank struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
}

func startRank(ctx context.Context, program string, spec worker.Spec) (*rank, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	r := &rank{command: exec.CommandContext(ctx, program)}
	// A rank has one processor, as the peer's compute with one thread: here they share few, while a node has some for each.
	r.command.Env = append(os.Environ(), worker.Variable+"="+string(text), "GOMAXPROCS=1")
	if r.in, err = r.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = json.NewDecoder(bufio.NewReader(out))
	if err := r.command.Start(); err != nil {
		return nil, fmt.Errorf("start a rank: %w", err)
	}
	return r, nil
}

// end waits for the process; that it was killed is no failure.
func (r *rank) end() error {
	_ = r.in.Close() // it may have ended
	var exit *exec.ExitError
	if err := r.command.Wait(); err != nil && !errors.As(err, &exit) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("end a rank: %w", err)
	}
	return nil
}
