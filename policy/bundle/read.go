package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// Bundle is the content of a bundle, which passed the limits and is not verified yet.
type Bundle struct {
	Name     string
	Manifest Manifest
	files    map[string][]byte
}

// Read reads a gzipped tar to its end. The name stands in errors. Errors are of type *Error, or those of the reader.
func Read(name string, r io.Reader, limits Limits) (*Bundle, error) {
	limits.SetDefaults()
	b := newBuilder(name, limits)
	in := &capped{r: r, left: limits.Compressed, what: "compressed", limit: limits.Compressed}
	unzipped, err := gzip.NewReader(in)
	if err != nil {
		return nil, b.broken(err)
	}
	out := &capped{r: unzipped, left: limits.Expanded, what: "expanded", limit: limits.Expanded}
	if err := b.readTar(out); err != nil {
		return nil, err
	}
	// What follows the end of the tar must be padding, and it must be read, since gzip has its checksum at the end.
	if err := onlyZeros(out); err != nil {
		return nil, b.broken(err)
	}
	return b.finish()
}

func (b *builder) readTar(out io.Reader) error {
	entries, end := 0, &tail{r: out}
	archive := tar.NewReader(end)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			// The library takes a stream that merely stops between two files for an end.
			if !end.zeros() {
				return b.broken(io.ErrUnexpectedEOF)
			}
			return nil
		}
		if err != nil {
			return b.broken(err)
		}
		if entries++; entries > b.limits.Files {
			return b.refuse("", "it has more than %d files and folders, which is what is allowed", b.limits.Files)
		}
		if err := b.readEntry(header, archive); err != nil {
			return err
		}
		end.mark()
	}
}

func (b *builder) readEntry(header *tar.Header, archive io.Reader) error {
	name, wrong := b.names.clean(header.Name)
	if wrong != "" {
		return b.refuse(name, "%s", wrong)
	}
	switch header.Typeflag {
	case tar.TypeDir:
		return nil
	case tar.TypeReg:
	case tar.TypeXGlobalHeader:
		return nil
	default:
		return b.refuse(name,
			"it is a link, a device or of another special kind (%q); only files and folders are allowed", header.Typeflag)
	}
	if header.Size > b.limits.File {
		return b.refuse(name, "it has %d bytes; allowed are %d", header.Size, b.limits.File)
	}
	// The holes of a sparse file are not in the stream, so what files hold is counted beside it.
	if b.total += header.Size; b.total > b.limits.Expanded {
		return b.refuse("", "it has more than %d bytes expanded, which is what is allowed", b.limits.Expanded)
	}
	// The size in a header is only a claim: memory grows with what arrives.
	var content bytes.Buffer
	if _, err := io.Copy(&content, archive); err != nil {
		return b.broken(fmt.Errorf("file %q: %w", name, err))
	}
	return b.add(name, content.Bytes())
}
