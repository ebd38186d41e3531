package bench

import "testing"

func BenchmarkTiergate(b *testing.B) { benchmark(b, Tiergate) }
