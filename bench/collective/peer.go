package collective

import (
	"bytes"
	"context"
	_ "embed" // the peer's program
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strconv"
	"time"
)

//go:embed ranks.py
var ranks []byte

// ErrNoTorch: the Python that was named has no torch with gloo, or is not there.
var ErrNoTorch = errors.New("no torch with gloo")

// exitNoTorch is the status of ranks.py for that.
const exitNoTorch = 3

// Effort is how often the peer repeats what it does.
type Effort struct{ Check, Create int }

// Peer fills in the peer's times of a row. It returns which torch was measured.
func Peer(ctx context.Context, python string, row *Row, effort Effort) (torch string, err error) {
	command := exec.CommandContext(ctx, python, "-", "--grid", row.Grid.String(),
		"--repeat", strconv.Itoa(effort.Check), "--create-repeat", strconv.Itoa(effort.Create))
	var stderr bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(ranks), &stderr
	out, err := command.Output()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist), errors.As(err, &exit) && exit.ExitCode() == exitNoTorch:
		return "", fmt.Errorf("%w: %w: %s", ErrNoTorch, err, bytes.TrimSpace(stderr.Bytes()))
	case err != nil:
		return "", fmt.Errorf("run the peer: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	var answer struct {
		Torch string `json:"torch"`
		Rows  []struct {
			Ranks  int     `json:"ranks"`
			Check  float64 `json:"check_ms"`
			Create float64 `json:"create_and_check_ms"`
		} `json:"rows"`
	}
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Rows) != 1 || answer.Rows[0].Ranks != row.Grid.World() {
		return "", fmt.Errorf("the peer answered %q (%v)", out, err)
	}
	milliseconds := func(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
	row.Check, row.Create = milliseconds(answer.Rows[0].Check), milliseconds(answer.Rows[0].Create)
	return answer.Torch, nil
}
