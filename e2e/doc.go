// Package e2e has tests that run the real service and real workers as processes on several hosts of one machine, which
// differ as hosts do: network stack, boot id, /dev/shm. They see only what an operator sees: what passes on the wire, what
// workers return and log, and what is left in /dev/shm.
//
// Nothing may import it. Tests of single steps belong to the packages that own them.
package e2e
