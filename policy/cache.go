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
)

// cachedWasm is compileWasm with the result kept in a directory, since OPA's compiler takes most of the time of a start.
// Errors are still found every time: only files that were parsed, refused and type-checked come here. Who can write to the
// directory can change verdicts, as with the machine code that the wasm host keeps in it.
func (p *parsed) cachedWasm(ctx context.Context, dir string, entrypoints []string) ([]byte, error) {
	if dir == "" {
		return p.compileWasm(ctx, entrypoints)
	}
	key := p.key(entrypoints)
	path := filepath.Join(dir, "policy-"+hex.EncodeToString(key[:])+".wasm")
	if wasm, ok := readSealed(path); ok {
		return wasm, nil
	}
	wasm, err := p.compileWasm(ctx, entrypoints)
	if err != nil {
		return nil, err
	}
	// Without the file the next start takes longer, which is no reason to fail this one.
	_ = writeSealed(path, wasm)
	return wasm, nil
}

// key depends on everything that the module does.
func (p *parsed) key(entrypoints []string) [sha256.Size]byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%q %q\n", opa.Version, entrypoints)
	for _, f := range slices.SortedFunc(slices.Values(p.files), func(a, b file) int { return strings.Compare(a.path, b.path) }) {
		fmt.Fprintf(&b, "%q %q\n", f.path, f.text)
	}
	return sha256.Sum256(b.Bytes())
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
