// Package webhook answers the admission reviews of Kubernetes: an AdmissionReview in, an AdmissionReview out. It owns what of a
// change to an object is judged and how an answer reads for whoever made the change. It must not decide about launches
// itself, and asks no cluster: it sees one object, as it is about to be written.
package webhook
