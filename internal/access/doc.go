// Package access knows who asks: it tells identities by bearer tokens, Kubernetes service accounts, client certificates and
// the credentials of unix peers, as one access file says, and how much each may ask at once. It owns that file and its
// reloading. It must not know routes: which role a route needs is the API's to say.
package access
