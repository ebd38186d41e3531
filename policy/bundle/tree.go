package bundle

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/tiergate/tiergate/policy"
)

// ReadDir reads a directory as a bundle. Hidden folders are left aside, and links to files are followed: that is how
// Kubernetes mounts a ConfigMap. The limit of the compressed size does not apply.
func ReadDir(name string, dir fs.FS, limits Limits) (*Bundle, error) {
	limits.SetDefaults()
	b := newBuilder(name, limits)
	var total int64
	err := fs.WalkDir(dir, ".", func(p string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || p == ".":
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		info, err := fs.Stat(dir, p)
		if err != nil || info.IsDir() { // a link to a folder
			return err
		}
		if !info.Mode().IsRegular() {
			return b.refuse(p, "it is neither a file nor a folder")
		}
		if len(b.bundle.files) >= limits.Files {
			return b.refuse("", "it has more than %d files, which is what is allowed", limits.Files)
		}
		content, err := readUpTo(dir, p, min(limits.File, limits.Expanded-total))
		if err != nil {
			return err
		}
		if total += int64(len(content)); int64(len(content)) > limits.File {
			return b.refuse(p, "it has more than %d bytes, which is what is allowed", limits.File)
		}
		if total > limits.Expanded {
			return b.refuse("", "its files have more than %d bytes together, which is what is allowed", limits.Expanded)
		}
		clean, wrong := b.names.clean(p)
		if wrong != "" {
			return b.refuse(clean, "%s", wrong)
		}
		return b.add(p, content)
	})
	if err != nil {
		return nil, err
	}
	return b.finish()
}

// readUpTo reads one byte more than the limit at most.
func readUpTo(dir fs.FS, name string, limit int64) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// Source gives the rules and data to an engine, without what ships anyway.
func (b *Bundle) Source() (policy.Source, error) {
	files, err := b.policies()
	if err != nil {
		return policy.Source{}, err
	}
	tree, err := Tree(files)
	if err != nil {
		return policy.Source{}, fmt.Errorf("bundle %s: keep files: %w", b.Name, err)
	}
	return policy.Source{Name: b.Name, FS: tree}, nil
}

// Tree keeps files as an uncompressed zip, which is the standard library's file system over bytes.
func Tree(files map[string][]byte) (fs.FS, error) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, name := range sorted(files) {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
}

func sorted(files map[string][]byte) []string { return slices.Sorted(maps.Keys(files)) }

// Write packs the bundle again, the same bytes for the same files.
func (b *Bundle) Write(w io.Writer) error { return pack(w, b.files) }
