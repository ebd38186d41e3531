package facts

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// readText reads a whole file of at most limit bytes. Pipes and devices, where a reader may wait, are refused.
func readText(path string, limit int64) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file but %s", path, info.Mode().Type())
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return "", err
	}
	if int64(len(text)) > limit {
		return "", fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return string(text), nil
}
