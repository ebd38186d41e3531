package api

import (
	"fmt"
	"sync"
	"testing"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// BenchmarkRegistration is one engine of two ranks from its reports to its admission, over a unix socket.
func BenchmarkRegistration(b *testing.B) {
	m := meet(b, nil)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		engine := fmt.Sprint("bench-", i)
		var ranks sync.WaitGroup
		for rank := range int64(2) {
			ranks.Go(func() {
				base := "/v1/engines/" + engine
				got, err := m.send(b.Context(), "PUT", fmt.Sprintf("%s/ranks/%d?wait=30s", base, rank), worker(rank, "gpu-a"))
				if err != nil {
					b.Error(err)
					return
				}
				p := got.progress(b, 200)
				path := fmt.Sprintf("%s/attempts/%d/ranks/%d/probe?wait=30s", base, p.Attempt, rank)
				if got, err = m.send(b.Context(), "PUT", path, found(rank, p)); err != nil {
					b.Error(err)
				} else if a := got.progress(b, 200).Admission; a == nil || a.Outcome != v1.Allow {
					b.Error("not admitted")
				}
			})
		}
		ranks.Wait()
	}
}
