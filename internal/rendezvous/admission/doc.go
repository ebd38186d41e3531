// Package admission makes from the reports of an attempt the launch that the policy judges, and from the verdict and
// what every rank read of the others' segments the one answer for all ranks. It also owns the words of that answer. It
// is pure: it must not read clocks, keep state, wait or speak to anybody.
//
// Only a boot id together with the device of /dev/shm says which ranks share memory, and only a nonce that was read
// back proves it. Whatever is missing, malformed or contradictory rejects.
package admission
