package access

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func benchmark(b *testing.B, guard *Guard, token string) {
	r := asking("Bearer " + token)
	identified(b, guard, r)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := guard.Identify(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIdentifyToken(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var file strings.Builder
			file.WriteString("tokens:\n")
			for i := range n {
				fmt.Fprintf(&file, "  - {name: t%d, sha256: %s, roles: [worker]}\n", i, hashOf(fmt.Sprint(ciToken, i)))
			}
			benchmark(b, open(b, file.String(), nil), ciToken+"0")
		})
	}
}

// BenchmarkIdentifyVerified is a service account's token that was seen before, as those of waiting workers are.
func BenchmarkIdentifyVerified(b *testing.B) {
	benchmark(b, openCluster(b, vllmAccount, rsaSigner()), rsaSigner().token(b, nil))
}

func BenchmarkIdentifyAccount(b *testing.B) {
	for _, s := range []*signer{rsaSigner(), ecSigner(b, "key-2")} {
		b.Run(s.alg.String(), func(b *testing.B) {
			guard := openCluster(b, vllmAccount, s)
			accounts, r := guard.rules.Load().accounts, asking("Bearer "+s.token(b, nil))
			b.ReportAllocs()
			for b.Loop() {
				accounts.verified.Purge()
				if _, err := guard.Identify(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkTake(b *testing.B) {
	buckets, now := newBuckets(), time.Now()
	who := &Identity{Name: "x", Limits: Limits{RequestsPerSecond: mostRate, Burst: mostBurst}}
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		if err := buckets.take(who, now); err != nil {
			b.Fatal(err)
		}
	}
}
