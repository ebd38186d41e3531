// Package shell follows a command line to the programs that it would start: behind wrappers such as env and timeout,
// and through the scripts of sh -c, on every way that a script may take. It runs nothing, reads no file and looks up
// no user: what would need any of that is unknown text, which is carried along with the reason why it is unknown. It
// must not know what the programs are; a caller recognizes those that it wants.
package shell
