// Package host runs rewritten OPA modules on wazero: one runtime and one set of host functions for all modules and
// instances, JSON in and JSON out, with a deadline, a fuel budget and a memory maximum that hold against any module.
// It must not know launches, checks or verdicts, and it never returns an answer that a failed builtin had a part in.
package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
)

// Host owns the wazero runtime. Close it last.
type Host struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache
}

// New starts a runtime. With a cacheDir the machine code of a module is kept there and found again by its content, so
// that a restart need not compile; an empty cacheDir keeps it in memory.
func New(ctx context.Context, cacheDir string) (*Host, error) {
	cache := wazero.NewCompilationCache()
	if cacheDir != "" {
		var err error
		if cache, err = wazero.NewCompilationCacheWithDir(cacheDir); err != nil {
			return nil, fmt.Errorf("open compilation cache %s: %w", cacheDir, err)
		}
	}
	// WithCloseOnContextDone is left off: it leaves compiled code at every loop header and costs five times the
	// evaluation. Fuel does the same for a few per cent.
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(cache))
	h := &Host{runtime: runtime, cache: cache}
	if err := h.provideImports(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("provide host functions: %w", err), h.Close(ctx))
	}
	return h, nil
}

// Close frees everything; no module of this host may be in use.
func (h *Host) Close(ctx context.Context) error {
	return errors.Join(h.runtime.Close(ctx), h.cache.Close(ctx))
}
