// Package topology turns a launch into facts: the PP x PCP x TP grid of each data-parallel replica, the groups of ranks that
// talk to each other, where every rank runs, which ranks share one /dev/shm, and what each memory domain must hold. It is
// pure: no I/O, no clock, no environment. It must not judge; what the facts mean is the policy's business.
package topology
