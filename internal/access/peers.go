package access

import (
	"context"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// peers are users and groups that connect to a unix socket.
type peers []peer

type peer struct {
	uid, gid *uint32
	identity *Identity
}

func (p peers) find(c *unix.Ucred) (*Identity, error) {
	for _, entry := range p {
		if (entry.uid == nil || *entry.uid == c.Uid) && (entry.gid == nil || *entry.gid == c.Gid) {
			return entry.identity, nil
		}
	}
	return nil, unauthenticated("the process on the other end of the unix socket has uid %d and gid %d, which no entry of unix_peers "+
		"has; send a bearer token, or have them named in the access file", c.Uid, c.Gid)
}

func (m *mistakes) peers(entries []peerEntry, defaults Limits) (out peers) {
	for _, e := range entries {
		name := ""
		switch {
		case e.UID != nil && e.GID != nil:
			name = fmt.Sprintf("uid:%d,gid:%d", *e.UID, *e.GID)
		case e.UID != nil:
			name = fmt.Sprintf("uid:%d", *e.UID)
		case e.GID != nil:
			name = fmt.Sprintf("gid:%d", *e.GID)
		default:
			m.add(e.line, "a unix peer needs a uid, a gid or both")
		}
		out = append(out, peer{e.UID, e.GID, m.identity(e.line, name, &e.grant, defaults)})
	}
	return out
}

type peerKey struct{}

// ConnContext keeps what the kernel says of the process on the other end of a unix socket, for Identify. It is for
// http.Server.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	for {
		wrapped, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = wrapped.NetConn()
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return ctx
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return ctx
	}
	var credentials *unix.Ucred
	if raw.Control(func(fd uintptr) {
		credentials, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}) != nil || err != nil {
		return ctx
	}
	return context.WithValue(ctx, peerKey{}, credentials)
}
