// Package certs holds certificates that change while the process runs: a key pair and the certificates of who vouches for the
// other side, for servers and clients. It owns when files are read again and what replaces what. It must not listen or dial.
package certs
