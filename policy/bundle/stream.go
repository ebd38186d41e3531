package bundle

import (
	"archive/tar"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
)

// tooLarge ends the reading of a stream.
type tooLarge struct {
	what  string
	limit int64
}

func (e *tooLarge) Error() string { return "it is too large " + e.what }

// capped reads up to a limit and then fails, where io.LimitReader would pretend an end.
type capped struct {
	r     io.Reader
	left  int64
	what  string
	limit int64
}

func (c *capped) Read(p []byte) (int, error) {
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.r.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return 0, &tooLarge{c.what, c.limit}
	}
	return n, err
}

// tarBlock is what everything in a tar is a multiple of.
const tarBlock = 512

// tail remembers whether a tar ended with two blocks of zeros behind its last file, whose own zeros are no end.
type tail struct {
	r    io.Reader
	run  int64 // zero bytes at the end of what was read
	seen int64
	file int64 // where the last file ends, with its padding
}

func (t *tail) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.seen += int64(n)
	for _, c := range p[:n] {
		if t.run++; c != 0 {
			t.run = 0
		}
	}
	return n, err
}

// mark notes that a file has been read to its end.
func (t *tail) mark() { t.file = (t.seen + tarBlock - 1) / tarBlock * tarBlock }

func (t *tail) zeros() bool {
	return min(t.run, t.seen-t.file) >= 2*tarBlock && t.seen%tarBlock == 0
}

var errTrailing = errors.New("something follows its end")

func onlyZeros(r io.Reader) error {
	block := make([]byte, 4096)
	for {
		n, err := r.Read(block)
		for _, c := range block[:n] {
			if c != 0 {
				return errTrailing
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// broken says in which way a stream is no bundle.
func (b *builder) broken(err error) error {
	var large *tooLarge
	var corrupt flate.CorruptInputError
	switch {
	case errors.As(err, &large):
		return b.refuse("", "it has more than %d bytes %s, which is what is allowed", large.limit, large.what)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return b.refuse("", "it is cut off: the download or the copy ended early; fetch it again")
	case errors.Is(err, gzip.ErrHeader):
		return b.refuse("", "it is no gzipped tar, as `opa build` and `tiergate policy build` make them")
	case errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return b.refuse("", "it is damaged: the gzip checksum or its data are wrong; fetch it again")
	case errors.Is(err, tar.ErrHeader), errors.Is(err, errTrailing):
		return b.refuse("", "it is no proper tar: %s", err)
	}
	return b.refuse("", "read: %s", err)
}
