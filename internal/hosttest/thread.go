package hosttest

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// thread is an operating system thread that lives in namespaces of its own. Whatever do runs sees their files, sockets
// and mounts, and processes started there stay in them.
type thread struct {
	calls chan func()
	done  chan struct{}
}

// startThread starts a thread and has it enter namespaces. It keeps them alive until close.
func startThread(enter func() error) (*thread, error) {
	t := &thread{calls: make(chan func()), done: make(chan struct{})}
	entered := make(chan error, 1)
	go t.run(enter, entered)
	if err := <-entered; err != nil {
		<-t.done
		return nil, err
	}
	return t, nil
}

func (t *thread) run(enter func() error, entered chan<- error) {
	runtime.LockOSThread() // and never unlock: the runtime ends the thread with the goroutine, and its namespaces with it
	if unix.Gettid() == os.Getpid() {
		// The main thread cannot end, and its namespaces are those that /proc shows for the process. This call has it, so
		// another goroutine gets another.
		go t.run(enter, entered)
		<-t.done
		runtime.UnlockOSThread()
		return
	}
	defer close(t.done)
	if err := enter(); err != nil {
		entered <- err
		return
	}
	entered <- nil
	for call := range t.calls {
		call()
	}
}

// do runs f on the thread and returns its error.
func (t *thread) do(f func() error) error {
	result := make(chan error, 1)
	t.calls <- func() { result <- f() }
	return <-result
}

func (t *thread) close() {
	close(t.calls)
	<-t.done
}

// own gives the calling thread new namespaces of the kinds of flags, CLONE_NEWNET and the like. Without CLONE_FS a thread
// may not leave the mount namespace that it shares with the others.
func own(flags int) error {
	if err := unix.Unshare(unix.CLONE_FS | flags); err != nil {
		return fmt.Errorf("make namespaces: %w", err)
	}
	if flags&unix.CLONE_NEWNS == 0 {
		return nil
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	return nil
}

// open returns the calling thread's namespace of a kind, "net" or "mnt".
func open(kind string) (*os.File, error) {
	return os.Open("/proc/thread-self/ns/" + kind)
}

// join moves the calling thread into namespaces.
func join(namespaces ...*os.File) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("leave the process's namespaces: %w", err)
	}
	for _, ns := range namespaces {
		if err := unix.Setns(int(ns.Fd()), 0); err != nil {
			return fmt.Errorf("enter a namespace: %w", err)
		}
	}
	return nil
}
