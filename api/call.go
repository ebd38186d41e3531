package api

import (
	"fmt"
	"net/url"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous"
)

const (
	// maxEngine is the length of the longest name of an engine. Bytes.
	maxEngine = 256
	// maxWait is the longest that one request waits; whoever wants more asks again.
	maxWait = time.Minute
)

// call is what the path and the query of a request about an engine say. Attempt and rank are 0 where the path has none.
type call struct {
	caller        rendezvous.Caller
	attempt, rank int64
	wait          time.Duration
	query         query
}

// call reads and judges the parameters of the request.
func (x *exchange) call() (c call, err error) {
	if c.caller.Engine, err = x.engineName(); err != nil {
		return c, err
	}
	x.engine = shorten(c.caller.Engine)
	c.caller.Tenant, c.caller.By = x.identity.Tenant, x.by()
	if !x.identity.Owns(c.caller.Engine) {
		return c, x.notOwn(c.caller.Engine)
	}
	if c.attempt, err = x.number("attempt", 1); err != nil {
		return c, err
	}
	if c.rank, err = x.number("rank", 0); err != nil {
		return c, err
	}
	if c.wait, err = waitOf(x.r.URL); err != nil {
		return c, err
	}
	c.query, err = parseQuery(x.r.URL)
	return c, err
}

// parameter is a parameter of the path. The router matches the escaped path where that differs, so that an engine's name may
// have slashes.
func (x *exchange) parameter(name string) (string, error) {
	value := x.c.Param(name)
	if x.r.URL.RawPath == "" {
		return value, nil
	}
	return url.PathUnescape(value)
}

func (x *exchange) engineName() (string, error) {
	name, err := x.parameter("engine")
	printable := utf8.ValidString(name)
	for _, r := range name {
		printable = printable && unicode.IsPrint(r)
	}
	if err != nil || !printable || name == "" || len(name) > maxEngine {
		return "", &refusal{v1.CodeInvalidParameter, fmt.Sprintf(
			"the engine is %.64q; allowed are names of 1 to %d bytes of printable UTF-8", name, maxEngine)}
	}
	return name, nil
}

// number reads a parameter, if the path has it, and keeps it for the log.
func (x *exchange) number(name string, least int64) (int64, error) {
	text, err := x.parameter(name)
	if text == "" && err == nil {
		return 0, nil
	}
	n, bad := strconv.ParseInt(text, 10, 64)
	if err != nil || bad != nil || n < least {
		return 0, &refusal{v1.CodeInvalidParameter, fmt.Sprintf(
			"the %s is %.64q; allowed is a whole number from %d", name, text, least)}
	}
	if name == "rank" {
		x.rank = &n
	} else {
		x.attempt = &n
	}
	return n, nil
}

// waitOf is how long an answer may be waited for; not at all without the parameter.
func waitOf(u *url.URL) (time.Duration, error) {
	values := u.Query()
	if !values.Has("wait") {
		return 0, nil
	}
	text := values.Get("wait")
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 || wait > maxWait {
		return 0, &refusal{v1.CodeInvalidParameter, fmt.Sprintf(
			"wait is %.64q; allowed is a duration from 0s to %s, such as 30s", text, maxWait)}
	}
	return wait, nil
}
