package topology

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// canonical is a configuration in the form in which all ranks of an engine must agree.
type canonical struct {
	settings
	// transfer is kv_transfer as compact JSON with sorted keys and without localKeys; null where there is none, and verbatim
	// where it is not JSON.
	transfer []byte
}

// settings are its fields of fixed size. They leave out data_parallel_size_local, which rightly differs between nodes. The
// world size follows from the sizes, but a worker that was told another one waits for ranks that never come.
type settings struct {
	world    int64
	sizes    [5]int64
	executor string
	nnodes   int64
	version  string
}

// sizeNames are the fields of canonical.sizes, in order.
var sizeNames = [5]string{"tensor", "pipeline", "prefill_context", "decode_context", "data"}

// localKeys are the keys of a KV transfer configuration that differ between processes of one engine.
var localKeys = [...]string{"engine_id", "kv_ip", "kv_port", "kv_rank"}

// settingsOf takes a worker with a configuration.
func settingsOf(w *v1.Worker) settings {
	c := w.Config
	parallel := c.Parallel
	if parallel == nil {
		parallel = &v1.Parallel{}
	}
	return settings{
		world: w.WorldSize,
		sizes: [5]int64{
			orOne(parallel.Tensor), orOne(parallel.Pipeline), orOne(parallel.PrefillContext), orOne(parallel.DecodeContext),
			orOne(parallel.Data),
		},
		executor: c.Executor,
		nnodes:   orOne(c.Nnodes),
		version:  c.Version,
	}
}

func orOne(size *int64) int64 {
	if size == nil {
		return 1
	}
	return *size
}

// canonicalTransfer keeps the text of numbers: 1 and 1.0 differ, as they do for vLLM.
func canonicalTransfer(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	tree, ok := parseTransfer(raw)
	if !ok {
		return raw
	}
	dropLocal(tree)
	text, err := json.Marshal(tree)
	if err != nil {
		return raw
	}
	return text
}

func parseTransfer(raw []byte) (tree any, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&tree) != nil {
		return nil, false
	}
	_, err := decoder.Token()
	return tree, errors.Is(err, io.EOF)
}

// dropLocal removes localKeys from a transfer configuration and from the children of a MultiConnector, which are transfer
// configurations themselves. Its depth is bounded by the JSON decoder's.
func dropLocal(tree any) {
	config, ok := tree.(map[string]any)
	if !ok {
		return
	}
	for _, key := range localKeys {
		delete(config, key)
	}
	extra, _ := config["kv_connector_extra_config"].(map[string]any)
	children, _ := extra["connectors"].([]any)
	for _, child := range children {
		dropLocal(child)
	}
}

// key is equal for equal configurations only.
func (c *canonical) key() string {
	key := make([]byte, 0, 64+len(c.transfer))
	key = append(strconv.AppendInt(key, c.world, 10), ' ')
	for _, size := range c.sizes {
		key = append(strconv.AppendInt(key, size, 10), ' ')
	}
	key = append(strconv.AppendInt(key, c.nnodes, 10), ' ')
	key = strconv.AppendQuote(key, c.executor)
	key = strconv.AppendQuote(key, c.version)
	return string(append(key, c.transfer...))
}

// differs says in which fields a configuration is not like the first one.
func (c *canonical) differs(first *canonical) []string {
	fields := []string{}
	if c.world != first.world {
		fields = append(fields, fmt.Sprintf("world_size: %s, not %s", worldText(c.world), worldText(first.world)))
	}
	for i, name := range sizeNames {
		if c.sizes[i] != first.sizes[i] {
			fields = append(fields, fmt.Sprintf("parallel.%s: %d, not %d", name, c.sizes[i], first.sizes[i]))
		}
	}
	if c.executor != first.executor {
		fields = append(fields, fmt.Sprintf("executor: %s, not %s", given(c.executor), given(first.executor)))
	}
	if c.nnodes != first.nnodes {
		fields = append(fields, fmt.Sprintf("nnodes: %d, not %d", c.nnodes, first.nnodes))
	}
	if c.version != first.version {
		fields = append(fields, fmt.Sprintf("version: %s, not %s", given(c.version), given(first.version)))
	}
	if !bytes.Equal(c.transfer, first.transfer) {
		fields = appendTransferDifference(fields, c.transfer, first.transfer)
	}
	return fields
}

func worldText(size int64) string {
	if size == 0 {
		return absentValue
	}
	return strconv.FormatInt(size, 10)
}

func given(value string) string {
	if value == "" {
		return absentValue
	}
	return shorten(value)
}
