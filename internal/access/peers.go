package access

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// credentials are the user and the group of a process, in this process's user namespace.
type credentials struct{ uid, gid uint32 }

// peers are users and groups that connect to a unix socket.
type peers []peer

type peer struct {
	uid, gid *uint32
	grant    *Identity
	line     int
}

// find takes the first entry that matches. The identity has the user's number, also where an entry is for a group.
func (p peers) find(c *credentials) (*Identity, error) {
	for i := range p {
		if (p[i].uid == nil || *p[i].uid == c.uid) && (p[i].gid == nil || *p[i].gid == c.gid) {
			identity := *p[i].grant
			identity.Name = "uid:" + strconv.FormatUint(uint64(c.uid), 10)
			return &identity, nil
		}
	}
	return nil, unauthenticated("the process at the other end of the unix socket has uid %d and gid %d, and no entry of unix_peers "+
		"does; have it added to the access file", c.uid, c.gid)
}

func (m *mistakes) peers(entries []peerEntry, defaults Limits) (out peers) {
	for i := range entries {
		e := &entries[i]
		if e.Broken {
			continue
		}
		who := "unix peer"
		if e.UID != nil {
			who += fmt.Sprintf(" uid %d", *e.UID)
		}
		if e.GID != nil {
			who += fmt.Sprintf(" gid %d", *e.GID)
		}
		if e.UID == nil && e.GID == nil {
			m.add(e.Line, "a unix peer has neither uid nor gid, so that it could be anybody; give one or both")
		}
		for _, earlier := range out {
			if same(earlier.uid, e.UID) && same(earlier.gid, e.GID) {
				m.add(e.Line, "%s is never reached, since the entry in line %d matches the same and comes first; put this one before it",
					who, earlier.line)
				break
			}
		}
		m.noPlaceholders(who, &e.grant)
		out = append(out, peer{e.UID, e.GID, m.identity(who, "", &e.grant, defaults), e.Line})
	}
	return out
}

// same tells whether an earlier entry matches whatever a later one does, in one of the two numbers.
func same(earlier, later *uint32) bool {
	return earlier == nil || later != nil && *earlier == *later
}

type peerKey struct{}

// ConnContext keeps what the kernel says of the process that connected to a unix socket, for Identify. It is for
// http.Server; a connection that wraps another one must have NetConn, as those of crypto/tls do.
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	for {
		wrapper, wraps := conn.(interface{ NetConn() net.Conn })
		if !wraps {
			break
		}
		conn = wrapper.NetConn()
	}
	socket, isSocket := conn.(*net.UnixConn)
	if !isSocket {
		return ctx
	}
	if c := peerOf(socket); c != nil {
		return context.WithValue(ctx, peerKey{}, c)
	}
	return ctx
}
