// Package cli is the command line of Tiergate: what the commands are called, which exit status they end with, and where
// their output goes. It must not judge, read formats or lay out text itself; packages policy, input and output do.
package cli
