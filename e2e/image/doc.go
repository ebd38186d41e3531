// Package image builds the container image and runs its program as a cluster would: as nobody, in a root that is
// read-only, with nothing else around. It must not pull anything.
package image
