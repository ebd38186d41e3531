// Package load puts HTTP servers under a closed load on the loopback interface and says how many requests they answer
// and how long they take. It is a client for measuring and nothing else: requests are bytes made in advance,
// responses are read no further than needed, and nothing is allocated per request, so that the client leaves the
// machine to the server.
//
// Programs such as wrk would do; this one needs nothing but Go, checks every status, and takes its percentiles from
// all requests.
package load
