package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// program finds the command behind --, before anybody waits for it; empty where there is none.
func (a *app) program() (string, error) {
	switch {
	case a.command == nil:
		return "", nil
	case len(a.command) == 0:
		return "", usagef("there is no command behind --")
	}
	name := a.command[0]
	if strings.ContainsRune(name, filepath.Separator) {
		return name, executable(name)
	}
	for _, dir := range filepath.SplitList(variable(a.env, "PATH")) {
		if path := filepath.Join(dir, name); executable(path) == nil {
			return path, nil
		}
	}
	return "", usagef("%s: there is no such command in PATH", name)
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return usagef("%s", err)
	case info.IsDir() || info.Mode()&0o111 == 0:
		return usagef("%s: %s", path, fs.ErrPermission)
	}
	return nil
}

// variable is the last value of a variable.
func variable(env []string, name string) (value string) {
	for _, entry := range env {
		if v, found := strings.CutPrefix(entry, name+"="); found {
			value = v
		}
	}
	return value
}

// become replaces this process by the program, so that its status and the signals that it gets are its own. It does not
// return unless it fails, or there is no program.
func (a *app) become(ctx context.Context, program string) error {
	if program == "" {
		return nil
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return fmt.Errorf("exec %s: %w", program, a.exec(program, a.command, a.env))
}
