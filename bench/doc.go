// Package bench compares Tiergate with its peers: OPA's interpreter and OPA's own WebAssembly target, both with a
// policy over the raw launch that was written to be fast in the interpreter, and the servers around them. It
// generates the launches, runs the contenders in turns in one process, and states which of the required ratios are
// met.
//
// It must not be imported by anything that ships, and it must not measure a contender that answers differently.
package bench
