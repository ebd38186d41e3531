package access

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// maxFile bounds every file that is read here. Bytes.
const maxFile = 1 << 20

// sources reads an access file and those that it names, and sums up what they hold, so that a change of any is noticed. A
// path is relative to the access file.
type sources struct {
	dir string
	sum hash.Hash
}

func newSources(accessFile string) *sources {
	return &sources{dir: filepath.Dir(accessFile), sum: sha256.New()}
}

func (s *sources) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, name)
}

// read gives the content of a file. That a file cannot be read is something to notice too.
func (s *sources) read(name string) ([]byte, error) {
	text, err := readFile(s.path(name))
	s.note(err == nil, text)
	return text, err
}

// check tells whether a file can be read which is read anew whenever it is needed, so that its content does not count.
func (s *sources) check(name string) error {
	_, err := readFile(s.path(name))
	s.note(err == nil, nil)
	return err
}

func (s *sources) note(readable bool, text []byte) {
	_ = binary.Write(s.sum, binary.BigEndian, readable)
	_ = binary.Write(s.sum, binary.BigEndian, int64(len(text)))
	s.sum.Write(text)
}

func (s *sources) digest() (d [sha256.Size]byte) {
	s.sum.Sum(d[:0])
	return d
}

// readFile reads a regular file: a pipe in its place would hold up everything.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	return text, err
}
