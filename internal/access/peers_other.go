//go:build !linux

package access

import "net"

// peerOf knows nobody: the kernels of other systems are not asked.
func peerOf(*net.UnixConn) *credentials { return nil }
