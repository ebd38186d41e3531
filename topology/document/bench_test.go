package document_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology/document"
)

// launchOf is a launch with facts for every node, eight workers on each.
func launchOf(workers int) []byte {
	var text strings.Builder
	fmt.Fprintf(&text, `{"engine":{"id":"engine-a","version":"0.33.0","parallel":{"tensor":8,"pipeline":%d},"executor":"mp",`+
		`"nnodes":%[1]d,"kv_transfer":{"kv_connector":"OffloadingConnector","kv_role":"kv_both","kv_connector_extra_config":`+
		`{"spec_name":"TieringOffloadingSpec","cpu_bytes_to_use":4294967296,"secondary_tiers":[{"type":"fs","root_dir":"/mnt/kv"}]}}}`,
		workers/8)
	separator := `,"nodes":[`
	for node := range workers / 8 {
		fmt.Fprintf(&text, `%s{"id":"gpu-%d","boot_id":"3f0a4f0c-6d1e-4d3c-9a55-%012[2]d","shm":{"device":"0:27",`+
			`"total_bytes":68719476736,"free_bytes":67345087201},"memory":{"limit_bytes":274877906944}}`, separator, node)
		separator = ","
	}
	separator = `],"workers":[`
	for rank := range workers {
		fmt.Fprintf(&text, `%s{"rank":%d,"node":"gpu-%d"}`, separator, rank, rank/8)
		separator = ","
	}
	text.WriteString(`],"core":{"node":"gpu-0"}}`)
	return []byte(text.String())
}

func BenchmarkLaunch(b *testing.B) {
	for _, workers := range []int{8, 64, 512, 4096} {
		data := launchOf(workers)
		b.Run(fmt.Sprintf("workers=%d/decoder=ours", workers), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := document.Launch(data, "application/json"); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("workers=%d/decoder=encoding-json", workers), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				var launch v1.Launch
				if err := json.Unmarshal(data, &launch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
