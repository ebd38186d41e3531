// Package output writes the answers of a run of tiergate: for people as text with the rank grid, for programs as JSON, YAML
// or JUnit. It owns layout and wording; it must not judge, and what it prints of a document cannot control the terminal.
package output
