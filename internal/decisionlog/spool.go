package decisionlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

var errSpoolFull = errors.New("the spool has reached its size")

// largestSegment is where a segment ends and the next begins, unless the spool is small. Bytes.
const largestSegment = 8 << 20

const (
	segmentSuffix = ".jsonl"
	cursorName    = "cursor"
	lockName      = "lock"
)

// segment is a file of JSON lines; size is what has been synced of it.
type segment struct {
	number int64
	size   int64
}

// spool keeps batches in numbered segments of one directory until they are delivered. One goroutine appends, another reads. What
// was appended without an error is on the disk, and is given to the reader at least once, also by the next process: a cursor
// says how far it came.
type spool struct {
	dir   string
	limit int64
	lock  *os.File

	mu       sync.Mutex
	segments []segment // the last is appended to
	total    int64
	finished bool
	grown    chan struct{}

	tail *os.File // of the last segment; nil if the next append begins one

	// Of the reader: what it has of the first segment, and where it will be once that is delivered.
	offset, after int64
}

// openSpool takes over a directory with all that a process before left there.
func openSpool(dir string, limit int64) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	s := &spool{dir: dir, limit: limit, grown: make(chan struct{}, 1)}
	var err error
	if s.lock, err = os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is in use by another process; give each its own", dir), s.lock.Close())
	}
	if err := s.recover(); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

// recover finds the segments and cuts off lines that were not written whole.
func (s *spool) recover() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name, found := strings.CutSuffix(entry.Name(), segmentSuffix)
		number, err := strconv.ParseInt(name, 10, 64)
		if !found || err != nil {
			continue
		}
		text, err := os.ReadFile(s.path(number))
		if err != nil {
			return err
		}
		whole := int64(bytes.LastIndexByte(text, '\n') + 1)
		if whole < int64(len(text)) {
			if err := os.Truncate(s.path(number), whole); err != nil {
				return err
			}
		}
		s.segments = append(s.segments, segment{number, whole})
		s.total += whole
	}
	slices.SortFunc(s.segments, func(a, b segment) int { return int(a.number - b.number) })
	var number int64
	text, err := os.ReadFile(filepath.Join(s.dir, cursorName))
	if err == nil {
		_, _ = fmt.Sscanf(string(text), "%d %d", &number, &s.offset) // one that cannot be read delivers some records twice
	}
	if len(s.segments) == 0 || s.segments[0].number != number || s.offset > s.segments[0].size {
		s.offset = 0
	}
	return nil
}

func (s *spool) path(number int64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%016d%s", number, segmentSuffix))
}

// append writes lines and syncs them. After an error nothing of them is kept.
func (s *spool) append(lines []byte) error {
	s.mu.Lock()
	full := s.total+int64(len(lines)) > s.limit
	s.mu.Unlock()
	if full {
		return errSpoolFull
	}
	if err := s.extend(); err != nil {
		return err
	}
	s.mu.Lock()
	size := s.segments[len(s.segments)-1].size
	s.mu.Unlock()
	_, err := s.tail.WriteAt(lines, size)
	if err == nil {
		err = s.tail.Sync()
	}
	if err != nil {
		// After a failed sync nobody knows what a page is worth: what comes next goes to a file of its own.
		err = errors.Join(err, s.tail.Truncate(size), s.tail.Close())
		s.tail = nil
		return err
	}
	s.mu.Lock()
	s.segments[len(s.segments)-1].size += int64(len(lines))
	s.total += int64(len(lines))
	s.mu.Unlock()
	s.wake()
	return nil
}

// extend begins a segment if there is none to append to.
func (s *spool) extend() error {
	s.mu.Lock()
	next, size := int64(1), int64(0)
	if n := len(s.segments); n > 0 {
		next, size = s.segments[n-1].number+1, s.segments[n-1].size
	}
	s.mu.Unlock()
	if s.tail != nil && size < min(largestSegment, s.limit/4) {
		return nil
	}
	if s.tail != nil {
		err := s.tail.Close() // it was synced
		s.tail = nil
		if err != nil {
			return err
		}
	}
	file, err := os.OpenFile(s.path(next), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := syncDir(s.dir); err != nil {
		return errors.Join(err, file.Close())
	}
	s.tail = file
	s.mu.Lock()
	s.segments = append(s.segments, segment{number: next})
	s.mu.Unlock()
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (s *spool) wake() {
	select {
	case s.grown <- struct{}{}:
	default:
	}
}

// finish tells the reader that nothing will be appended any more.
func (s *spool) finish() {
	s.mu.Lock()
	s.finished = true
	s.mu.Unlock()
	s.wake()
}

// close ends the spool after both goroutines.
func (s *spool) close() error {
	var err error
	if s.tail != nil {
		err = s.tail.Close()
	}
	return errors.Join(err, s.lock.Close())
}
