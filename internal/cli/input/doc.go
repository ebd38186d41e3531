// Package input turns what a user names on the command line into launches: files of launch documents or Kubernetes objects,
// standard input, or a command. It owns telling these apart; it must not judge, and what cannot be read is reported beside
// what can.
package input
