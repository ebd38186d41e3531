package decisionlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// ErrRefused: the sink will not take a batch however often it is asked.
var ErrRefused = errors.New("refused by the sink")

// Sink takes batches of JSON lines, one at a time. A batch that failed is given again.
type Sink interface {
	Write(ctx context.Context, lines []byte) error
	Close() error
}

// Stream is a sink that writes to a stream that it does not own, such as standard output.
type Stream struct{ W io.Writer }

func (s Stream) Write(_ context.Context, lines []byte) error {
	_, err := s.W.Write(lines)
	return err
}

// Close leaves the stream open.
func (Stream) Close() error { return nil }

// Discard is a sink for a log that is only looked at while it is in memory.
type Discard struct{}

func (Discard) Write(context.Context, []byte) error { return nil }

// Close does nothing.
func (Discard) Close() error { return nil }

// File is a sink that writes to a file. A file that would outgrow the limit becomes FILE.1, that one FILE.2, and so on; the
// oldest is removed.
type File struct {
	path  string
	limit int64
	keep  int
	file  *os.File
	size  int64
}

// OpenFile opens a file for appending, of at most limit bytes, with keep older ones beside it.
func OpenFile(path string, limit int64, keep int) (*File, error) {
	f := &File{path: path, limit: limit, keep: keep}
	return f, f.open()
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.size = file, info.Size()
	return nil
}

func (f *File) Write(_ context.Context, lines []byte) error {
	if f.file != nil && f.size > 0 && f.size+int64(len(lines)) > f.limit {
		if err := f.rotate(); err != nil {
			return fmt.Errorf("rotate %s: %w", f.path, err)
		}
	}
	if f.file == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	n, err := f.file.Write(lines)
	if err != nil {
		// Half a line must not stay: it will be written again.
		if n > 0 && f.file.Truncate(f.size) != nil {
			f.size += int64(n)
		}
		return err
	}
	f.size += int64(n)
	return nil
}

func (f *File) rotate() error {
	err := f.file.Close()
	f.file = nil
	if err != nil {
		return err
	}
	name := func(i int) string {
		if i == 0 {
			return f.path
		}
		return f.path + "." + strconv.Itoa(i)
	}
	for i := f.keep; i > 0; i-- {
		if err := os.Rename(name(i-1), name(i)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Close closes the file.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}
