// Package collective compares the check at KV registration with the one that it replaces: vLLM's in_the_same_node_as for the
// TP, PP and PCP group of every rank, as collectives over torch's gloo groups. Both sides run one process per rank on this
// machine, in one run.
//
// The peer (ranks.py) needs a Python with torch; without one only Tiergate is measured. Nothing that ships may import this.
package collective
