package input

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology/document"
)

// Stdin is the name of a file that stands for standard input.
const Stdin = "-"

// MaxBytes is the largest file that is read.
const MaxBytes = 64 << 20

// The codes of an Error.
const (
	CodeUnreadable = "unreadable"
	CodeEmpty      = "empty"
	CodeMixed      = "mixed_file"
)

// Error is a file that cannot be read or holds nothing to judge. What is wrong inside a document comes as the error of its
// own reader.
type Error struct{ Code, Detail string }

func (e *Error) Error() string { return e.Detail }

// Input is one launch to judge, or why there is none.
type Input struct {
	// Source is the file, with the object and container behind # where a file holds several; standard input is "-".
	Source string
	Launch *v1.Launch
	// Err is set instead of Launch.
	Err error

	part document.Part
}

// LineOf is the line of a YAML file on which the value that a JSON pointer names stands; 0 where that is not known.
func (in *Input) LineOf(pointer string) int {
	text, err := in.part.Text()
	if err != nil {
		return 0
	}
	return text.LineOf(pointer)
}

// Files reads files in order. One that cannot be read becomes an Input with an error, and the others are read all the same.
func Files(names []string, stdin io.Reader) []Input {
	var all []Input
	for _, name := range names {
		data, err := read(name, stdin)
		if err != nil {
			all = append(all, Input{Source: name, Err: err})
			continue
		}
		all = append(all, parse(name, data)...)
	}
	return all
}

func read(name string, stdin io.Reader) ([]byte, error) {
	if name != Stdin {
		file, err := os.Open(name)
		if err != nil {
			return nil, unreadable(err)
		}
		defer file.Close() //nolint:errcheck // nothing was written
		if info, err := file.Stat(); err == nil && info.IsDir() {
			return nil, &Error{CodeUnreadable, "this is a directory; name its files, for example with a pattern such as dir/*.yaml"}
		}
		stdin = file
	}
	data, err := io.ReadAll(io.LimitReader(stdin, MaxBytes+1))
	if err != nil {
		return nil, unreadable(err)
	}
	if len(data) > MaxBytes {
		return nil, &Error{CodeUnreadable, fmt.Sprintf("the file is larger than the %d MiB that are read", MaxBytes>>20)}
	}
	return data, nil
}

// unreadable leaves out the path, which the source already names.
func unreadable(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return &Error{CodeUnreadable, path.Op + ": " + path.Err.Error()}
	}
	return &Error{CodeUnreadable, err.Error()}
}
