// Package decisionlog keeps a record of every verdict and admission: it masks what is secret, buffers within bounds, spools to
// disk where that is asked for, and delivers to a sink in the form of OPA's decision logs. It never delays or fails a
// decision: what cannot be kept is dropped and counted. It decides nothing and knows nothing of policies but their verdicts.
package decisionlog
