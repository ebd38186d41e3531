package hosttest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const bootIDPath = "/proc/sys/kernel/random/boot_id"

// Host is a place where processes run: a machine as the only container on it, or another container of a machine.
type Host struct {
	Name string
	// Address is the IP address of the machine in the lab.
	Address string
	// BootID is what the kernel of the machine says of itself.
	BootID string

	lab     *Lab
	machine *machine
	thread  *thread
	mounts  *os.File
}

// machine is what containers of one machine have in common.
type machine struct {
	net  *os.File
	port string
}

// Host adds a machine that lasts as long as the test.
func (l *Lab) Host(tb testing.TB, name string, shm Shm) *Host {
	tb.Helper()
	h := &Host{Name: name, BootID: randomBootID()}
	file := filepath.Join(tb.TempDir(), "boot_id")
	require.NoError(tb, os.WriteFile(file, []byte(h.BootID+"\n"), 0o444))
	l.cabled(tb, h, func() error { return h.build(file, shm) })
	return h
}

// cabled builds a host with a network stack of its own and plugs it in.
func (l *Lab) cabled(tb testing.TB, h *Host, build func() error) {
	tb.Helper()
	l.mu.Lock()
	l.ports++
	n := l.ports
	l.mu.Unlock()
	h.Address, h.lab, h.machine = address(n).Addr().String(), l, &machine{port: fmt.Sprintf("port%d", n)}
	var err error
	h.thread, err = startThread(build)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		h.close()
		h.machine.net.Close()
	})
	require.NoError(tb, l.thread.do(func() error {
		return errors.Join(addCable(h.machine.port, "eth0", h.machine.net.Fd()), plug(h.machine.port, bridge))
	}))
	require.NoError(tb, h.thread.do(func() error { return setUp("eth0", address(n)) }))
}

func (h *Host) build(bootID string, shm Shm) (err error) {
	if err := own(unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC); err != nil {
		return err
	}
	if h.machine.net, err = open("net"); err != nil {
		return err
	}
	if err := unix.Mount(bootID, bootIDPath, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("give the host a boot id: %w", err)
	}
	if err := errors.Join(setUp("lo", netip.Prefix{}), unix.Sethostname([]byte(h.Name)), shm.mount()); err != nil {
		return err
	}
	h.mounts, err = open("mnt")
	return err
}

// Pod adds a container to the machine with a /dev/shm of its own, as pods of one node have.
func (h *Host) Pod(tb testing.TB, name string, shm Shm) *Host {
	tb.Helper()
	return h.container(tb, name, shm.mount)
}

// Container adds one to the machine that shares the /dev/shm of h, as containers of one pod do.
func (h *Host) Container(tb testing.TB, name string) *Host {
	tb.Helper()
	return h.container(tb, name, func() error { return nil })
}

// NetworkedContainer adds one that shares the /dev/shm of h but has an address of its own, which can be cut off alone.
func (h *Host) NetworkedContainer(tb testing.TB, name string) *Host {
	tb.Helper()
	c := &Host{Name: name, BootID: h.BootID}
	h.lab.cabled(tb, c, func() (err error) {
		if err := join(h.mounts); err != nil {
			return err
		}
		if err := own(unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC); err != nil {
			return err
		}
		if c.machine.net, err = open("net"); err != nil {
			return err
		}
		if err := errors.Join(setUp("lo", netip.Prefix{}), unix.Sethostname([]byte(name))); err != nil {
			return err
		}
		c.mounts, err = open("mnt")
		return err
	})
	return c
}

func (h *Host) container(tb testing.TB, name string, mount func() error) *Host {
	tb.Helper()
	c := &Host{Name: name, Address: h.Address, BootID: h.BootID, lab: h.lab, machine: h.machine}
	var err error
	c.thread, err = startThread(func() (err error) {
		if err := join(h.mounts, h.machine.net); err != nil {
			return err
		}
		if err := own(unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC); err != nil {
			return err
		}
		if err := errors.Join(unix.Sethostname([]byte(name)), mount()); err != nil {
			return err
		}
		c.mounts, err = open("mnt")
		return err
	})
	require.NoError(tb, err)
	tb.Cleanup(c.close)
	return c
}

func (h *Host) close() {
	h.thread.close()
	h.mounts.Close()
}

// Cut takes the machine off the network: what it sends and what it is sent is lost without a word, as behind a broken
// switch. Heal undoes it.
func (h *Host) Cut(tb testing.TB) {
	tb.Helper()
	require.NoError(tb, h.lab.thread.do(func() error { return plug(h.machine.port, "") }))
}

// Heal plugs the machine in again.
func (h *Host) Heal(tb testing.TB) {
	tb.Helper()
	require.NoError(tb, h.lab.thread.do(func() error { return plug(h.machine.port, bridge) }))
}

// randomBootID has the form of the kernel's, a random UUID.
func randomBootID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
