//go:build !linux

package probe

import v1 "github.com/tiergate/tiergate/api/v1"

// Segment is never made here: only Linux has a /dev/shm.
type Segment struct{}

var notLinux = &v1.LocalFail{Errno: "not_linux", Detail: "only Linux has a /dev/shm that workers can share"}

// Make fails.
func Make(string) (*Segment, *v1.LocalFail) { return nil, notLinux }

// Read cannot tell.
func Read(string, string) v1.ProbeAnswer { return v1.ProbeAnswer{Outcome: v1.Unknown, Error: notLinux} }

// Sweep finds nothing.
func Sweep(string) int { return 0 }

// Name is that of no file.
func (*Segment) Name() string { return "" }

// SHA256 is that of no nonce.
func (*Segment) SHA256() string { return "" }

// Remove does nothing.
func (*Segment) Remove() error { return nil }
