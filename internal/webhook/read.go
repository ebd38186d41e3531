package webhook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology/document"
)

// The operations of a request.
const (
	Create  = "CREATE"
	Update  = "UPDATE"
	Delete  = "DELETE"
	Connect = "CONNECT"
)

// Error is a review that cannot be answered, because it is none, or because its object cannot be read.
type Error struct {
	// Code is v1.CodeInvalidReview, v1.CodeInvalidEngine, v1.CodeTooManyPods or one of package document.
	Code string
	// Pointer is the JSON pointer in the review, where it is known.
	Pointer string
	Detail  string

	err error
}

// Error gives pointer and detail.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return e.Detail
	}
	return e.Pointer + ": " + e.Detail
}

// Unwrap gives the error of the manifest, if it is one.
func (e *Error) Unwrap() error { return e.err }

// Review is what an API server asks.
type Review struct {
	UID       string
	Operation string
	// Group and Kind are those of the object, Namespace and Name where it stands; a name that the API server is yet to make
	// up is its beginning.
	Group, Kind, Namespace, Name string
	// User asked the API server.
	User string
	// DryRun reviews are answered alike; nothing comes of them.
	DryRun bool

	subResource string
	object, old json.RawMessage
	meta        meta
}

// Read decodes a review. Errors are *Error or *document.Error: a review that is not understood is not answered, so that
// the webhook's failurePolicy decides.
func Read(data []byte) (*Review, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, invalid("", "the body is empty; an %s is expected", kind)
	}
	var q question
	if err := (document.Text{JSON: data}).Extract(&q); err != nil {
		return nil, err
	}
	if q.APIVersion != apiVersion || q.Kind != kind {
		return nil, invalid("",
			"the document is a %.64q of %.64q; only an %s of %s is answered: set admissionReviewVersions: [v1]",
			q.Kind, q.APIVersion, kind, apiVersion)
	}
	if q.Request == nil {
		return nil, invalid("/request", "a review without a request has nothing to answer")
	}
	r := &Review{
		UID: q.Request.UID, Operation: q.Request.Operation, Group: q.Request.Kind.Group, Kind: q.Request.Kind.Kind,
		Namespace: q.Request.Namespace, User: q.Request.UserInfo.Username, DryRun: q.Request.DryRun,
		subResource: q.Request.SubResource, object: present(q.Request.Object), old: present(q.Request.OldObject),
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.object != nil {
		if err := (document.Text{JSON: r.object}).Extract(&r.meta); err != nil {
			return nil, err
		}
	}
	r.Name = cmp.Or(q.Request.Name, r.meta.Metadata.Name, r.meta.Metadata.GenerateName)
	return r, nil
}

// check refuses requests without what every API server sends.
func (r *Review) check() error {
	switch {
	case r.UID == "":
		return invalid("/request/uid", "the request has no uid, which the answer must repeat")
	case r.Operation != Create && r.Operation != Update && r.Operation != Delete && r.Operation != Connect:
		return invalid("/request/operation", "%.64q is no operation; there are CREATE, UPDATE, DELETE and CONNECT", r.Operation)
	case r.object == nil && r.judged():
		return invalid("/request/object", "a request to create or update has an object")
	case r.object != nil && r.object[0] != '{':
		return invalid("/request/object", "an object is expected, %.16q is none", r.object)
	default:
		return nil
	}
}

// judged tells whether the operation can bring an engine up, or change how it comes up.
func (r *Review) judged() bool {
	return r.subResource == "" && (r.Operation == Create || r.Operation == Update)
}

// present is nil for an object that is not there.
func present(raw json.RawMessage) json.RawMessage {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

func invalid(pointer, format string, args ...any) error {
	return &Error{Code: v1.CodeInvalidReview, Pointer: pointer, Detail: fmt.Sprintf(format, args...)}
}

// judgedOwners are the controllers whose objects are reviewed themselves, by API group and kind.
var judgedOwners = map[string]bool{
	"/ReplicationController": true,
	"apps/Deployment":        true, "apps/StatefulSet": true, "apps/ReplicaSet": true, "apps/DaemonSet": true,
	"batch/Job": true, "batch/CronJob": true,
	"leaderworkerset.x-k8s.io/LeaderWorkerSet": true,
	"ray.io/RayCluster":                        true, "ray.io/RayJob": true, "ray.io/RayService": true,
	"serving.kserve.io/LLMInferenceService": true,
}

// controller is the object that made this one and was reviewed itself, empty if there is none.
func (r *Review) controller() string {
	for _, o := range r.meta.Metadata.OwnerReferences {
		group, _, grouped := strings.Cut(o.APIVersion, "/")
		if !grouped {
			group = ""
		}
		if o.Controller && judgedOwners[group+"/"+o.Kind] {
			return o.Kind + "/" + o.Name
		}
	}
	return ""
}
