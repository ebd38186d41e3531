package policy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	opa "github.com/open-policy-agent/opa/v1/version"

	"github.com/tiergate/tiergate/rego"
)

// cachedWasm is checkedWasm with the result kept in a directory, since OPA's compilers take most of the time of a start. What
// is there has passed the checks before. Who can write to the directory can change verdicts, as with the machine code that
// the wasm host keeps in it.
func (p *parsed) cachedWasm(ctx context.Context, dir string, entrypoints []string) ([]byte, error) {
	if dir == "" {
		return p.checkedWasm(ctx, entrypoints)
	}
	key, err := p.key(entrypoints)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "policy-"+hex.EncodeToString(key[:])+".wasm")
	if wasm, ok := readSealed(path); ok {
		return wasm, nil
	}
	wasm, err := p.checkedWasm(ctx, entrypoints)
	if err != nil {
		return nil, err
	}
	// Without the file the next start takes longer, which is no reason to fail this one.
	_ = writeSealed(path, wasm)
	return wasm, nil
}

// key is over everything that the checks and the module depend on.
func (p *parsed) key(entrypoints []string) (key [sha256.Size]byte, err error) {
	schema, err := rego.FS.ReadFile(schemaFile)
	if err != nil {
		return key, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%q %q %q %q %q\n", p.dataNames(), opa.Version, entrypoints, schema, slices.Concat(hostBuiltins, nativeBuiltins))
	for _, f := range slices.SortedFunc(slices.Values(p.files), func(a, b file) int { return strings.Compare(a.path, b.path) }) {
		fmt.Fprintf(&b, "%q %q\n", f.path, f.text)
	}
	return sha256.Sum256(b.Bytes()), nil
}

// readSealed reads a file that begins with the hash of the rest; one that was cut off or damaged counts as absent.
func readSealed(path string) ([]byte, bool) {
	text, err := os.ReadFile(path)
	if err != nil || len(text) < sha256.Size {
		return nil, false
	}
	hash := sha256.Sum256(text[sha256.Size:])
	return text[sha256.Size:], bytes.Equal(hash[:], text[:sha256.Size])
}

// writeSealed writes beside the path first, so that two starts at once do not read half of each other's file.
func writeSealed(path string, content []byte) error {
	part, err := os.CreateTemp(filepath.Dir(path), "policy-*.part")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) //nolint:errcheck // it is there only after a failure
	hash := sha256.Sum256(content)
	_, err = part.Write(append(hash[:], content...))
	if closed := part.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(part.Name(), path)
}
