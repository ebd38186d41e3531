// Package bundle reads policies packed as OPA bundles, gzipped tars or directories, and signs and verifies them in the
// form of OPA's .signatures.json. It owns what a bundle may hold and how large it may be. It must not compile rules,
// judge launches or fetch anything: it is given bytes or a directory and gives a tree of rule and data files.
package bundle
