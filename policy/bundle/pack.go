package bundle

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
)

// pack writes files in the order of their names and without times.
func pack(w io.Writer, files map[string][]byte) error {
	zipped := gzip.NewWriter(w)
	archive := tar.NewWriter(zipped)
	for _, name := range sorted(files) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: "/" + name, Mode: 0o600, Size: int64(len(files[name]))}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("write bundle: %w", err)
		}
		if _, err := archive.Write(files[name]); err != nil {
			return fmt.Errorf("write bundle: %w", err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	if err := zipped.Close(); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}
	return nil
}
