// Package journal keeps the records of the rendezvous in a NATS JetStream key-value bucket: in a server inside this process,
// in memory and without a listener, or in a cluster. It owns connections, the bucket and its limits; it must not know what a
// record means.
package journal
