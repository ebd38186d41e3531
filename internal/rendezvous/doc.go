// Package rendezvous gathers the reports of an engine's workers into attempts, has one verdict made for each, and folds the
// probe answers into one admission. It owns the protocol of DESIGN's "Attempts" and the order in which records are written;
// it must not speak HTTP, know where records are kept, or look into what a policy decides.
//
// All state is a journal of records that are written once. Every process folds the same journal in the same order by one
// watch, so that replicas agree without talking to each other: whatever a process wants to be true it writes, and it
// believes only what comes back. A record that lost the race for its key is thus never acted on.
package rendezvous
