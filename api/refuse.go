package api

import (
	"encoding/json"
	"errors"
	"net/http"
)

var errHandlerFailed = errors.New("handler failed")

// refuse answers with the problem that an error means.
func (x *exchange) refuse(err error) {
	p := problemOf(x.r.Context(), err)
	k := catalogue[p.Code]
	if k.retry {
		x.w.Header()["Retry-After"] = retryAfter
	}
	x.challenge(err)
	if k.closes {
		x.w.Header()["Connection"] = closing
	}
	if p.Status == http.StatusUpgradeRequired {
		x.w.Header()["Upgrade"], x.w.Header()["Connection"] = upgrade, upgrading
	}
	x.code = p.Code
	if p.Status >= http.StatusInternalServerError && !k.retry {
		x.err = err
	}
	x.send(p.Status, typeProblem, encode(p))
}

// encode writes a document of ours, which cannot fail.
func encode(document any) []byte {
	text, err := json.Marshal(document)
	if err != nil {
		panic(err)
	}
	return text
}
