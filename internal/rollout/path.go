package rollout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/tiergate/tiergate/policy"
	"github.com/tiergate/tiergate/policy/bundle"
)

// PathError is a source that cannot be read.
type PathError struct {
	Path string
	Err  error
}

func (e *PathError) Error() string { return fmt.Sprintf("read policy: %s", e.Err) }
func (e *PathError) Unwrap() error { return e.Err }

// IsURL tells a source that is fetched from one that is read.
func IsURL(source string) bool {
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

func isBundle(path string) bool {
	return strings.HasSuffix(path, ".tar.gz") || filepath.Ext(path) == ".tgz"
}

// Read reads a directory of rules, a bundle or a single file of rules into memory, so that what is tried is what is put in
// force, whatever happens to the files meanwhile. With a verification it must be a bundle, packed or not, that passes it.
func Read(source string, verification *bundle.Verification) (policy.Source, error) {
	if IsURL(source) {
		return policy.Source{}, &PathError{source, errors.New("URLs are fetched by serve alone; download the bundle and give its file")}
	}
	info, err := os.Stat(source)
	switch {
	case err != nil:
		return policy.Source{}, &PathError{source, err}
	case !info.IsDir() && !info.Mode().IsRegular():
		return policy.Source{}, &PathError{source, fmt.Errorf("%s is neither a directory nor a regular file", source)}
	case verification != nil && info.IsDir():
		b, err := bundle.ReadDir(source, os.DirFS(settled(source)), bundle.Limits{})
		if err != nil {
			return policy.Source{}, err
		}
		return verified(b, verification)
	case verification != nil || isBundle(source):
		f, err := os.Open(source)
		if err != nil {
			return policy.Source{}, &PathError{source, err}
		}
		defer f.Close()
		b, err := bundle.Read(source, f, bundle.Limits{})
		if err != nil {
			return policy.Source{}, err
		}
		return verified(b, verification)
	case info.IsDir():
		return readTree(source, os.DirFS(settled(source)), func(string) bool { return true })
	case filepath.Ext(source) != ".rego":
		return policy.Source{}, &PathError{source, fmt.Errorf("%s is neither a directory nor a bundle (.tar.gz) nor a .rego file", source)}
	}
	dir, name := filepath.Split(source)
	return readTree(filepath.Clean(dir), os.DirFS(filepath.Clean(dir)), func(p string) bool { return p == name })
}

func verified(b *bundle.Bundle, verification *bundle.Verification) (policy.Source, error) {
	if verification != nil {
		if err := b.Verify(*verification); err != nil {
			return policy.Source{}, err
		}
	}
	source, err := b.Source()
	if err != nil {
		return policy.Source{}, fmt.Errorf("open policy: %w", err)
	}
	return source, nil
}

// settled is where the files of a directory are that Kubernetes mounts: it swaps the link ..data, so that what the link names is
// never half of one revision and half of the next.
func settled(dir string) string {
	if target, err := filepath.EvalSymlinks(filepath.Join(dir, "..data")); err == nil {
		return target
	}
	return dir
}

// maxTree bounds what the rule and data files of a directory have together. Bytes.
const maxTree = 128 << 20

// maxFile bounds one rule, data or launch file. Bytes.
const maxFile = 32 << 20

// readFile reads a file up to a limit. A pipe would be waited for, and a device may never end.
func readFile(tree fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(tree, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("it is no regular file")}
	}
	f, err := tree.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has more than %d bytes, which is what is allowed", limit)}
	}
	return text, err
}

// readTree copies the rule and data files of a tree into memory.
func readTree(name string, tree fs.FS, wanted func(string) bool) (policy.Source, error) {
	files, size := map[string][]byte{}, int64(0)
	err := fs.WalkDir(tree, ".", func(p string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && p != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || !policy.IsSource(p) || !wanted(p):
			return nil
		}
		if files[p], err = readFile(tree, p, maxFile); err != nil {
			return err
		}
		if size += int64(len(files[p])); size > maxTree {
			return fmt.Errorf("%s has rule and data files of more than %d bytes, which is what is allowed", name, maxTree)
		}
		return nil
	})
	if err != nil {
		return policy.Source{}, &PathError{path.Clean(name), err}
	}
	copied, err := bundle.Tree(files)
	if err != nil {
		return policy.Source{}, &PathError{path.Clean(name), err}
	}
	return policy.Source{Name: name, FS: copied}, nil
}
