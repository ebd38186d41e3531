// Package hosttest builds several hosts on one Linux machine for tests of real processes: each has its own network
// stack, host name, boot id and /dev/shm, and a switch joins them.
//
// A host is a set of namespaces that only this process refers to, through the threads that live in them. Nothing has a
// name on the machine and nothing is mounted outside of them, so that nothing can be left behind: not by a failed test,
// and not by a killed one, whose children the kernel kills with it. It needs root, and no program but the one under test.
//
// It must not be imported by anything that ships.
package hosttest
