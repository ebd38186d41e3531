package api

import (
	"net"
	"sync"
)

// limited accepts a bounded number of connections at once; the next ones wait in the kernel. Unlike the limiter of
// x/net it keeps CloseWrite, without which the HTTP library cannot end a connection so that the client reads its
// answer.
type limited struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func limit(l net.Listener, connections int) net.Listener {
	return &limited{Listener: l, slots: make(chan struct{}, connections), closed: make(chan struct{})}
}

func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &limitedConn{Conn: conn, slots: l.slots}, nil
}

func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	slots chan struct{}
	once  sync.Once
}

func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.slots })
	return err
}

func (c *limitedConn) CloseWrite() error {
	return c.Conn.(interface{ CloseWrite() error }).CloseWrite()
}

// NetConn is the connection inside, which knows who is on its other end.
func (c *limitedConn) NetConn() net.Conn { return c.Conn }
