// Command table compares the time of a decision with that of the peers and prints which requirements are met.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/tiergate/tiergate/bench"
)

var errNotMet = errors.New("a requirement is not met")

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var effort bench.Effort
	flag.IntVar(&effort.Rounds, "rounds", 9, "how often each contender has its turn")
	flag.DurationVar(&effort.Turn, "turn", 100*time.Millisecond, "about how long a turn takes")
	strict := flag.Bool("strict", false, "exit with 1 if a requirement is not met")
	flag.Parse()

	var contenders [3]bench.Contender
	for i, start := range []func(context.Context) (bench.Contender, error){
		bench.Tiergate, bench.Interpreter, bench.OPAWasm,
	} {
		var err error
		if contenders[i], err = start(ctx); err != nil {
			return err
		}
	}
	rows, err := bench.Compare(ctx, contenders, effort)
	if err != nil {
		return err
	}
	met, err := bench.Report(os.Stdout, rows)
	if err == nil && *strict && !met {
		return errNotMet
	}
	return err
}
