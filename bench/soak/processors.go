//go:build linux

package soak

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// onProcessors runs start, which starts a process, so that the process may use these processors only; none means all.
func onProcessors(list []int, start func() error) error {
	if len(list) == 0 {
		return start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	var set unix.CPUSet
	for _, p := range list {
		set.Set(p)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return err
	}
	defer unix.SchedSetaffinity(0, &before) //nolint:errcheck // it was so a moment ago
	return start()
}

// Processors splits those that this process may use in two halves, the second of which is the service's; both are empty where
// there is only one.
func Processors() (own, service []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, nil, err
	}
	var all []int
	for p := 0; len(all) < set.Count(); p++ {
		if set.IsSet(p) {
			all = append(all, p)
		}
	}
	if len(all) < 2 {
		return nil, nil, nil
	}
	return all[:len(all)/2], all[len(all)/2:], nil
}

// Confine makes all threads of this process use these processors only.
func Confine(list []int) error {
	if len(list) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, p := range list {
		set.Set(p)
	}
	for _, thread := range threads() {
		if err := unix.SchedSetaffinity(thread, &set); err != nil && err != unix.ESRCH {
			return err
		}
	}
	runtime.GOMAXPROCS(len(list))
	return nil
}
