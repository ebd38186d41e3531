package api

import (
	"net/http"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/topology"
	"github.com/tiergate/tiergate/topology/document"
	"github.com/tiergate/tiergate/topology/vllm"
)

// problemType is a problem's type without its code.
const problemType = "urn:tiergate:problem:"

// codeClientGone is for the log alone, with the status that proxies have made customary.
const (
	codeClientGone   = "client_gone"
	statusClientGone = 499
)

// What the statuses mean here: the client must send something else (400, 415, 422), must try later (503), or can do
// nothing because the policy or the service is at fault (500).
const (
	unreadable  = http.StatusBadRequest
	wrongFormat = http.StatusUnsupportedMediaType
	unjudgeable = http.StatusUnprocessableEntity
	unavailable = http.StatusServiceUnavailable
	failed      = http.StatusInternalServerError
)

// kind is what all problems of one code have in common.
type kind struct {
	status int
	title  string
	// retry sends Retry-After: the same request may be answered later.
	retry bool
	// closes ends the connection, because the rest of the request is not going to be read.
	closes bool
}

// catalogue has every code. 400 and 415 are for what cannot be read, 422 for what can be read and not be judged.
// A decision that waited too long is 503, since the load may pass; one that ran too long is 504, since the same policy
// takes the same time for the same launch again.
var catalogue = map[string]kind{
	v1.CodeNotFound:            {status: http.StatusNotFound, title: "No such route"},
	v1.CodeMethodNotAllowed:    {status: http.StatusMethodNotAllowed, title: "Wrong method"},
	v1.CodeNotEnabled:          {status: http.StatusNotFound, title: "Not enabled"},
	v1.CodeUnknownEntrypoint:   {status: http.StatusNotFound, title: "No such entry point"},
	v1.CodeInvalidParameter:    {status: unreadable, title: "Invalid parameter"},
	v1.CodeUnsupportedEncoding: {status: wrongFormat, title: "Unsupported content encoding", closes: true},
	v1.CodeBodyTimeout:         {status: http.StatusRequestTimeout, title: "The body came too slowly", closes: true},
	v1.CodeIncompleteBody:      {status: unreadable, title: "The body is incomplete", closes: true},
	v1.CodeOverloaded:          {status: unavailable, title: "Too much work at once", retry: true},
	v1.CodeShuttingDown:        {status: unavailable, title: "Shutting down", retry: true, closes: true},
	v1.CodeUnauthenticated:     {status: http.StatusUnauthorized, title: "Nobody is authenticated"},
	v1.CodeForbidden:           {status: http.StatusForbidden, title: "Not allowed"},
	v1.CodeRateLimited:         {status: http.StatusTooManyRequests, title: "Too many requests", retry: true},
	v1.CodeKeysUnavailable:     {status: unavailable, title: "Credentials cannot be verified at the moment", retry: true},
	v1.CodePolicyRefused:       {status: unjudgeable, title: "The policy was refused"},
	v1.CodeVerdictsFlip:        {status: http.StatusConflict, title: "Verdicts would flip"},
	v1.CodeStale:               {status: http.StatusPreconditionFailed, title: "Something else is in force"},
	v1.CodeInvalidReview:       {status: unreadable, title: "No AdmissionReview that can be answered"},
	v1.CodeInvalidEngine:       {status: unjudgeable, title: "An engine of the object cannot be followed"},
	v1.CodeTooManyPods:         {status: unjudgeable, title: "Too many pods"},
	codeClientGone:             {status: statusClientGone, title: "The client is gone", closes: true},

	v1.CodeEvaluationDeadline: {status: http.StatusGatewayTimeout, title: "The policy took too long"},
	v1.CodeEvaluationBudget:   {status: failed, title: "The policy took too many steps"},
	v1.CodeEvaluationMemory:   {status: failed, title: "The policy needed too much memory"},
	v1.CodeEvaluationStack:    {status: failed, title: "The policy nested too deeply"},
	v1.CodeEvaluationConflict: {status: failed, title: "The policy contradicts itself"},
	v1.CodeEvaluationBuiltin:  {status: failed, title: "A function in the policy failed"},
	v1.CodeEvaluationTrap:     {status: failed, title: "The policy failed"},
	v1.CodeUndefined:          {status: failed, title: "The policy gave no proper result"},
	v1.CodeInternal:           {status: failed, title: "Internal error"},

	v1.CodeProtocol:           {status: http.StatusUpgradeRequired, title: "Another version of the protocol"},
	v1.CodeInvalidReport:      {status: unreadable, title: "The report contradicts itself"},
	v1.CodeAttemptGone:        {status: http.StatusGone, title: "The attempt is not known"},
	v1.CodeNoSharedRendezvous: {status: http.StatusConflict, title: "Other nodes cannot reach this service"},
	v1.CodeUnknownEngine:      {status: http.StatusNotFound, title: "No such engine"},
	v1.CodeStore:              {status: unavailable, title: "The state cannot be used at the moment", retry: true},
	v1.EndAdmission:           {status: http.StatusConflict, title: "The attempt was decided without this rank"},
	v1.EndRevoked:             {status: http.StatusConflict, title: "The attempt was revoked"},
	v1.EndSuperseded:          {status: http.StatusConflict, title: "The attempt was superseded"},
	v1.EndDuplicate:           {status: http.StatusConflict, title: "Two processes report as one rank"},
	v1.EndTimedOut:            {status: http.StatusConflict, title: "The attempt timed out"},

	document.CodeEmpty:            {status: unreadable, title: "Empty document"},
	document.CodeTooLarge:         {status: http.StatusRequestEntityTooLarge, title: "Too large", closes: true},
	document.CodeTooDeep:          {status: unreadable, title: "Document nested too deeply"},
	document.CodeMediaType:        {status: wrongFormat, title: "Unsupported media type", closes: true},
	document.CodeInvalidUTF8:      {status: unreadable, title: "Invalid UTF-8"},
	document.CodeInvalidSyntax:    {status: unreadable, title: "Invalid syntax"},
	document.CodeInvalidType:      {status: unreadable, title: "Value of the wrong type"},
	document.CodeOutOfRange:       {status: unreadable, title: "Number out of range"},
	document.CodeInvalidValue:     {status: unreadable, title: "Invalid value"},
	document.CodeUnknownField:     {status: unreadable, title: "Unknown field"},
	document.CodeDuplicateKey:     {status: unreadable, title: "Duplicate key"},
	document.CodeMissingField:     {status: unreadable, title: "Missing field"},
	document.CodeSeveralDocuments: {status: unreadable, title: "More than one document"},
	document.CodeAliasCycle:       {status: unreadable, title: "Alias cycle"},
	document.CodeUnsupported:      {status: unreadable, title: "Unsupported YAML"},

	topology.CodeTooManyRanks:  {status: unjudgeable, title: "Too many ranks"},
	topology.CodeEmptyNodeID:   {status: unjudgeable, title: "Node without an id"},
	topology.CodeDuplicateNode: {status: unjudgeable, title: "Duplicate node"},
	topology.CodeUnknownNode:   {status: unjudgeable, title: "Unknown node"},
	topology.CodeNegativeBytes: {status: unjudgeable, title: "Negative size"},

	vllm.CodeNoEngine:       {status: unjudgeable, title: "No engine in the command"},
	vllm.CodeSeveralEngines: {status: unjudgeable, title: "Several engines in the command"},
	vllm.CodeContradiction:  {status: unjudgeable, title: "Command and fields contradict each other"},
	vllm.CodeScript:         {status: unjudgeable, title: "Unreadable script"},
	vllm.CodeTooLarge:       {status: unjudgeable, title: "Script too large"},
	vllm.CodeText:           {status: unjudgeable, title: "Invalid text"},
}
