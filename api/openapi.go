package api

import (
	_ "embed"
	"net/http"
)

// Description is the OpenAPI 3.1 description of the service, which it serves as /openapi.yaml.
//
//go:embed openapi.yaml
var Description []byte

func (x *exchange) openapi() error {
	x.send(http.StatusOK, typeYAML, Description)
	return nil
}
