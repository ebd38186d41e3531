package decisionlog

import (
	"encoding/json"
	"slices"
	"sync"
)

// recent is what a log keeps in memory for those who look: the last records, as they were delivered, within a number of bytes.
type recent struct {
	mu    sync.Mutex
	limit int
	size  int
	lines []kept
}

type kept struct {
	tenant, engine string
	line           json.RawMessage
}

// add keeps a copy of a record's line; the oldest make room for it.
func (r *recent) add(tenant, engine string, line []byte) {
	if len(line) > r.limit {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, kept{tenant, engine, slices.Clone(line)})
	r.size += len(line)
	first := 0
	for ; r.size > r.limit; first++ {
		r.size -= len(r.lines[first].line)
	}
	r.lines = slices.Delete(r.lines, 0, first)
}

// Recent gives the last records of a tenant that are in memory, the newest first, at most limit of them; those of one
// engine, if it is given. A nil log has none.
func (l *Log) Recent(tenant, engine string, limit int) []json.RawMessage {
	out := []json.RawMessage{}
	if l == nil {
		return out
	}
	l.recent.mu.Lock()
	defer l.recent.mu.Unlock()
	for _, k := range slices.Backward(l.recent.lines) {
		if len(out) == limit {
			break
		}
		if k.tenant == tenant && (engine == "" || k.engine == engine) {
			out = append(out, k.line)
		}
	}
	return out
}
