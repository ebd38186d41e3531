package webhook

import "encoding/json"

// The form of the only reviews that there are: v1beta1 ended with Kubernetes 1.22.
const (
	apiVersion = "admission.k8s.io/v1"
	kind       = "AdmissionReview"
)

// question is the part of an AdmissionReview that is read.
type question struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Request    *request `json:"request"`
}

type request struct {
	UID  string `json:"uid"`
	Kind struct {
		Group string `json:"group"`
		Kind  string `json:"kind"`
	} `json:"kind"`
	SubResource string `json:"subResource"`
	Name        string `json:"name"`
	Namespace   string `json:"namespace"`
	Operation   string `json:"operation"`
	UserInfo    struct {
		Username string `json:"username"`
	} `json:"userInfo"`
	Object    json.RawMessage `json:"object"`
	OldObject json.RawMessage `json:"oldObject"`
	DryRun    bool            `json:"dryRun"`
}

// meta is what decides about an object before its engines are looked at.
type meta struct {
	Metadata struct {
		Name              string  `json:"name"`
		GenerateName      string  `json:"generateName"`
		DeletionTimestamp string  `json:"deletionTimestamp"`
		OwnerReferences   []owner `json:"ownerReferences"`
	} `json:"metadata"`
}

type owner struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller bool   `json:"controller"`
}

// reply is an AdmissionReview with its answer.
type reply struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Response   response `json:"response"`
}

type response struct {
	UID              string            `json:"uid"`
	Allowed          bool              `json:"allowed"`
	Status           *status           `json:"status,omitempty"`
	Warnings         []string          `json:"warnings,omitempty"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
}

// status is a meta/v1 Status.
type status struct {
	Status  string         `json:"status"`
	Message string         `json:"message"`
	Reason  string         `json:"reason"`
	Details *statusDetails `json:"details,omitempty"`
	Code    int            `json:"code"`
}

type statusDetails struct {
	Name   string  `json:"name,omitempty"`
	Group  string  `json:"group,omitempty"`
	Kind   string  `json:"kind,omitempty"`
	Causes []cause `json:"causes,omitempty"`
}

type cause struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}
