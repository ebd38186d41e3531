// Package faults has the fault matrix of KV registration: every step of a rank's protocol times everything that can go
// wrong there, for engines of 2, 4 and 8 ranks, with real processes on real hosts. Whatever happens, no rank waits beyond
// its deadline and a second, all that can reach the service get one answer, the text names who is to blame, and nobody
// allocates a region in an attempt that was not admitted.
//
// Nothing may import it. What holds without faults is tested in e2e, and virtual time in internal/rendezvous.
//
// The wall clock is no column: nobody may set that of a machine that runs other things, and a time namespace cannot
// shift it. TestClockJumps builds service and workers with a wall clock that jumps instead.
package faults
