package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func BenchmarkInterpreter(b *testing.B) { benchmark(b, Interpreter) }

func BenchmarkOPAWasm(b *testing.B) { benchmark(b, OPAWasm) }

// benchmark times one decision, from launch JSON to verdict JSON, at every size and placement.
func benchmark(b *testing.B, start func(context.Context) (Contender, error)) {
	contender, err := start(b.Context())
	require.NoError(b, err)
	for _, variant := range []Variant{OK, Bad, Spread} {
		for _, workers := range Sizes {
			launch := Document(workers, variant)
			b.Run(fmt.Sprintf("%s/%d", variant, workers), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(launch)))
				for b.Loop() {
					if _, err := contender.Decide(b.Context(), launch); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
