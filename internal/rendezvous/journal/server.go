package journal

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// local is a NATS server inside this process. It listens nowhere and keeps everything in memory; its directory stays empty,
// but the server insists on one that it could write to.
type local struct {
	server *server.Server
	dir    string
}

func startLocal(maxBytes, maxPending int64, timeout time.Duration) (*local, error) {
	dir, err := writableDir()
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "tiergate", DontListen: true, NoSigs: true, NoLog: true, NoSystemAccount: true,
		JetStream: true, StoreDir: dir, JetStreamMaxMemory: 2 * maxBytes, JetStreamMaxStore: -1,
		MaxPayload: maxPayload, MaxPending: maxPending,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make in-process NATS server: %w", err), os.RemoveAll(dir))
	}
	l := &local{s, dir}
	s.Start()
	if !s.ReadyForConnections(timeout) {
		l.stop()
		return nil, fmt.Errorf("in-process NATS server was not ready within %s", timeout)
	}
	if !s.JetStreamEnabled() {
		l.stop()
		return nil, fmt.Errorf("in-process NATS server could not start JetStream; is there memory for %d bytes?", 2*maxBytes)
	}
	// It is never written to, and a process that is killed later could not remove it.
	if err := os.RemoveAll(dir); err != nil {
		l.stop()
		return nil, fmt.Errorf("remove the in-process NATS server's empty directory: %w", err)
	}
	return l, nil
}

// writableDir makes a directory where it can: with a read-only root, /dev/shm is usually the only place.
func writableDir() (string, error) {
	var errs []error
	for _, parent := range []string{"", "/dev/shm", "/run"} {
		dir, err := os.MkdirTemp(parent, "tiergate-nats-")
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("the in-process NATS server needs an empty directory, and none can be made; mount a small emptyDir at /tmp, "+
		"or set TMPDIR: %w", errors.Join(errs...))
}

func (l *local) stop() {
	l.server.Shutdown()
	l.server.WaitForShutdown()
	_ = os.RemoveAll(l.dir) // what is left is an empty directory
}
