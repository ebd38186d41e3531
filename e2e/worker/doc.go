// Package worker is a worker of an engine as far as KV registration goes: a process that knows its rank, its grid and its
// configuration, calls the embedded runtime, and would allocate its region in the callback. Programs that start copies of
// themselves as workers, such as the end-to-end tests and the benchmark of the collective check, give it their main.
//
// It can harm itself at a step of the protocol, as tests of faults need. It must not be imported by anything that ships.
package worker
