package bundle

import "fmt"

// Limits end the reading of a bundle as soon as one is passed. Zero fields mean the defaults.
type Limits struct {
	Compressed int64 // bytes of the gzipped tar; 32 MiB
	Expanded   int64 // bytes of the tar, padding and headers included, or of all files of a directory; 128 MiB
	File       int64 // bytes of one file; 32 MiB
	Files      int   // files and folders; 10,000
	Path       int   // bytes of a name; 512
}

// SetDefaults fills in what is zero.
func (l *Limits) SetDefaults() {
	for _, f := range []struct {
		value *int64
		or    int64
	}{{&l.Compressed, 32 << 20}, {&l.Expanded, 128 << 20}, {&l.File, 32 << 20}} {
		if *f.value == 0 {
			*f.value = f.or
		}
	}
	if l.Files == 0 {
		l.Files = 10_000
	}
	if l.Path == 0 {
		l.Path = 512
	}
}

// Error is why a bundle is refused.
type Error struct {
	Bundle string // as the caller named it
	File   string // inside the bundle, empty where it is about the whole
	Detail string
}

func (e *Error) Error() string {
	if e.File == "" {
		return fmt.Sprintf("bundle %s: %s", e.Bundle, e.Detail)
	}
	return fmt.Sprintf("bundle %s: file %q: %s", e.Bundle, e.File, e.Detail)
}
