package api

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// validate answers POST /v1/validate: a launch in, its verdict out, the bytes as the policy wrote them.
func (x *exchange) validate() error {
	q, err := parseQuery(x.r.URL)
	if err != nil {
		return err
	}
	decide := x.server.engine.Decide
	if q.explain != "" {
		decide = x.server.explained(q.explain)
	}
	if x.decision, err = x.judge(bare, decide); err != nil {
		return err
	}
	x.answer(q, x.decision.JSON)
	return nil
}

// answer sends a JSON document that was asked for.
func (x *exchange) answer(q query, document []byte) { x.sendDocument(http.StatusOK, q, document) }

func (x *exchange) sendDocument(status int, q query, document []byte) {
	if q.pretty {
		var indented bytes.Buffer
		if err := json.Indent(&indented, document, "", "  "); err == nil {
			indented.WriteByte('\n')
			document = indented.Bytes()
		}
	}
	x.send(status, typeJSON, document)
}
