// Package test holds the manifests against the types, the builder and the expression languages of the programs that read
// them. It is a module of its own, because these are large and Tiergate needs none of them.
package test
