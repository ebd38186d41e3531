package access

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerOf asks the kernel who connected, as it was at that moment; nil if it does not say.
func peerOf(socket *net.UnixConn) *credentials {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	var peer *unix.Ucred
	err = raw.Control(func(fd uintptr) {
		peer, _ = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil || peer == nil {
		return nil
	}
	return &credentials{peer.Uid, peer.Gid}
}
