package decisionlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// next waits for what comes after the delivered records and returns it, up to about maxBatch. Without records nothing is left
// of a finished spool, or the context has ended. Corrupt counts lines that are no JSON, which a disk may have made of them.
func (s *spool) next(ctx context.Context, linger time.Duration) (b batch, corrupt int64, err error) {
	for ctx.Err() == nil {
		s.mu.Lock()
		finished, some := s.finished, len(s.segments) > 0 && (len(s.segments) > 1 || s.segments[0].size > s.offset)
		var first segment
		if some {
			first = s.segments[0]
		}
		s.mu.Unlock()
		switch {
		case some && first.size <= s.offset:
			s.skip()
			continue
		case some:
			if first.size-s.offset < maxBatch && !finished && linger > 0 && pause(ctx, linger) {
				linger = 0
				continue
			}
			lines, err := s.read(first)
			if err != nil {
				return batch{}, corrupt, err
			}
			b, bad := whole(lines)
			s.after, corrupt = s.offset+int64(len(lines)), corrupt+bad
			if b.count == 0 {
				s.commit()
				continue
			}
			return b, corrupt, nil
		case finished:
			return batch{}, corrupt, nil
		}
		select {
		case <-s.grown:
		case <-ctx.Done():
		}
	}
	return batch{}, corrupt, nil
}

// read returns lines of a segment from the offset on: at least one, and otherwise up to maxBatch.
func (s *spool) read(from segment) ([]byte, error) {
	file, err := os.Open(s.path(from.number))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for size := int64(maxBatch); ; size *= 2 {
		lines := make([]byte, min(size, from.size-s.offset))
		if _, err := file.ReadAt(lines, s.offset); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if end := bytes.LastIndexByte(lines, '\n'); end >= 0 {
			return lines[:end+1], nil
		}
		if int64(len(lines)) == from.size-s.offset {
			return lines, nil
		}
	}
}

// whole leaves out lines that are no JSON.
func whole(lines []byte) (b batch, bad int64) {
	for line := range bytes.Lines(lines) {
		if jsontext.Value(line).IsValid() {
			b.lines, b.count = append(b.lines, line...), b.count+1
		} else {
			bad++
		}
	}
	return b, bad
}

// commit notes that what next returned is delivered. A note that cannot be written has these delivered again by the next
// process, which is better than not at all.
func (s *spool) commit() {
	s.mu.Lock()
	number := s.segments[0].number
	s.mu.Unlock()
	s.offset = s.after
	name := filepath.Join(s.dir, cursorName)
	if os.WriteFile(name+".new", fmt.Appendf(nil, "%d %d\n", number, s.offset), 0o600) == nil {
		_ = os.Rename(name+".new", name)
	}
}

// skip leaves the first segment, which is delivered and is not appended to any more.
func (s *spool) skip() {
	s.mu.Lock()
	first := s.segments[0]
	s.segments = s.segments[1:]
	s.total -= first.size
	s.mu.Unlock()
	s.offset = 0
	_ = os.Remove(s.path(first.number)) // one that stays is delivered again
}
