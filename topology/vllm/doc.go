// Package vllm turns what a launch says about its engine into the configuration that vLLM would run with: the command
// that starts it, the environment, and the fields of the launch document. It owns vLLM's argument syntax, the part of
// the shell that stands before it, and the merge of --kv-transfer-config with --kv-offloading-size.
//
// It must not judge: a value outside its range is passed on for the checks, and only what cannot be turned into a
// value at all becomes a topology.Refusal. It must not guess: what only the running script, node or cluster will know
// becomes a topology.Unresolved. It executes nothing, reads no file and starts no process.
//
// The rules were read in vLLM 0.33.0, and in 0.12, 0.17, 0.22, 0.23 and 0.28 where they say so.
package vllm
