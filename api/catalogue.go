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
	v1.CodeInvalidParameter:    {status: http.StatusBadRequest, title: "Invalid query parameter"},
	v1.CodeUnsupportedEncoding: {status: http.StatusUnsupportedMediaType, title: "Unsupported content encoding", closes: true},
	v1.CodeBodyTimeout:         {status: http.StatusRequestTimeout, title: "The body came too slowly", closes: true},
	v1.CodeIncompleteBody:      {status: http.StatusBadRequest, title: "The body is incomplete", closes: true},
	v1.CodeOverloaded:          {status: http.StatusServiceUnavailable, title: "Too much work at once", retry: true},
	v1.CodeShuttingDown:        {status: http.StatusServiceUnavailable, title: "Shutting down", retry: true, closes: true},
	codeClientGone:             {status: statusClientGone, title: "The client is gone", closes: true},

	v1.CodeEvaluationDeadline: {status: http.StatusGatewayTimeout, title: "The policy took too long"},
	v1.CodeEvaluationBudget:   {status: http.StatusInternalServerError, title: "The policy took too many steps"},
	v1.CodeEvaluationMemory:   {status: http.StatusInternalServerError, title: "The policy needed too much memory"},
	v1.CodeEvaluationStack:    {status: http.StatusInternalServerError, title: "The policy nested too deeply"},
	v1.CodeEvaluationConflict: {status: http.StatusInternalServerError, title: "The policy contradicts itself"},
	v1.CodeEvaluationBuiltin:  {status: http.StatusInternalServerError, title: "A function in the policy failed"},
	v1.CodeEvaluationTrap:     {status: http.StatusInternalServerError, title: "The policy failed"},
	v1.CodeUndefined:          {status: http.StatusInternalServerError, title: "The policy gave no proper result"},
	v1.CodeInternal:           {status: http.StatusInternalServerError, title: "Internal error"},

	document.CodeEmpty:            {status: http.StatusBadRequest, title: "Empty document"},
	document.CodeTooLarge:         {status: http.StatusRequestEntityTooLarge, title: "Document too large", closes: true},
	document.CodeTooDeep:          {status: http.StatusBadRequest, title: "Document nested too deeply"},
	document.CodeMediaType:        {status: http.StatusUnsupportedMediaType, title: "Unsupported media type", closes: true},
	document.CodeInvalidUTF8:      {status: http.StatusBadRequest, title: "Invalid UTF-8"},
	document.CodeInvalidSyntax:    {status: http.StatusBadRequest, title: "Invalid syntax"},
	document.CodeInvalidType:      {status: http.StatusBadRequest, title: "Value of the wrong type"},
	document.CodeOutOfRange:       {status: http.StatusBadRequest, title: "Number out of range"},
	document.CodeInvalidValue:     {status: http.StatusBadRequest, title: "Invalid value"},
	document.CodeUnknownField:     {status: http.StatusBadRequest, title: "Unknown field"},
	document.CodeDuplicateKey:     {status: http.StatusBadRequest, title: "Duplicate key"},
	document.CodeMissingField:     {status: http.StatusBadRequest, title: "Missing field"},
	document.CodeSeveralDocuments: {status: http.StatusBadRequest, title: "More than one document"},
	document.CodeAliasCycle:       {status: http.StatusBadRequest, title: "Alias cycle"},
	document.CodeUnsupported:      {status: http.StatusBadRequest, title: "Unsupported YAML"},

	topology.CodeTooManyRanks:  {status: http.StatusUnprocessableEntity, title: "Too many ranks"},
	topology.CodeEmptyNodeID:   {status: http.StatusUnprocessableEntity, title: "Node without an id"},
	topology.CodeDuplicateNode: {status: http.StatusUnprocessableEntity, title: "Duplicate node"},
	topology.CodeUnknownNode:   {status: http.StatusUnprocessableEntity, title: "Unknown node"},
	topology.CodeNegativeBytes: {status: http.StatusUnprocessableEntity, title: "Negative size"},

	vllm.CodeNoEngine:       {status: http.StatusUnprocessableEntity, title: "No engine in the command"},
	vllm.CodeSeveralEngines: {status: http.StatusUnprocessableEntity, title: "Several engines in the command"},
	vllm.CodeContradiction:  {status: http.StatusUnprocessableEntity, title: "Command and fields contradict each other"},
	vllm.CodeScript:         {status: http.StatusUnprocessableEntity, title: "Unreadable script"},
	vllm.CodeTooLarge:       {status: http.StatusUnprocessableEntity, title: "Script too large"},
	vllm.CodeText:           {status: http.StatusUnprocessableEntity, title: "Invalid text"},
}
