package api

import (
	"log/slog"
	"net/http"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tiergate/tiergate/internal/access"
)

// route is one method of one path. The handler writes the answer, or returns the error that the client is told.
type route struct {
	method, path string
	handle       func(*exchange) error
	// roles are those of which one is needed; without any, everybody who can connect may ask.
	roles []access.Role
	// admin routes are there only if the settings open them.
	admin bool
	// level is that of the log line: what is asked by machines every few seconds is for debugging only.
	level slog.Level
	// diagnostic routes are also served at the diagnostic address; metrics only there, if there is one.
	diagnostic bool
	// webhook routes are also served at the webhook's address.
	webhook bool

	// succeeded counts the answers with status 200.
	succeeded prometheus.Counter
}

const metricsPath = "/metrics"

func routes() []*route {
	const get, post, put, debug = http.MethodGet, http.MethodPost, http.MethodPut, slog.LevelDebug
	const engine = "/v1/engines/:engine"
	const attempt = engine + "/attempts/:attempt"
	return []*route{
		{method: post, path: "/v1/validate", roles: judging, handle: (*exchange).validate},
		{method: post, path: "/v1/data/*", roles: judging, handle: (*exchange).data},
		{method: post, path: "/v1/admission", roles: judging, handle: (*exchange).review, webhook: true},
		{method: put, path: engine + "/ranks/:rank", roles: reporting, handle: (*exchange).takeReport},
		{method: put, path: attempt + "/ranks/:rank/probe", roles: reporting, handle: (*exchange).takeProbe},
		{method: put, path: attempt + "/core", roles: reporting, handle: (*exchange).takeCore},
		{method: http.MethodDelete, path: attempt, roles: revoking, handle: (*exchange).revoke},
		{method: get, path: "/v1/engines", roles: looking, handle: (*exchange).engines},
		{method: get, path: engine, roles: looking, handle: (*exchange).showEngine},
		{method: get, path: attempt, roles: looking, handle: (*exchange).showAttempt},
		{method: get, path: "/v1/policies", roles: reading, handle: (*exchange).policies},
		{method: put, path: "/v1/policies", roles: ruling, admin: true, handle: (*exchange).putPolicies},
		{method: post, path: "/v1/policies/preview", roles: ruling, admin: true, handle: (*exchange).previewPolicies},
		{method: get, path: "/v1/decisions", roles: ruling, admin: true, handle: (*exchange).recentDecisions},
		{method: get, path: "/v1/config", roles: ruling, handle: (*exchange).showConfig, diagnostic: true},
		{method: get, path: "/openapi.yaml", handle: (*exchange).openapi},
		{method: get, path: "/health", handle: (*exchange).ready, level: debug, diagnostic: true, webhook: true},
		{method: get, path: "/health/live", handle: (*exchange).live, level: debug, diagnostic: true, webhook: true},
		{method: get, path: "/health/ready", handle: (*exchange).ready, level: debug, diagnostic: true, webhook: true},
		{method: get, path: metricsPath, roles: reading, handle: (*exchange).expose, level: debug, diagnostic: true},
	}
}

// unmatched stands for all requests that no route takes; the paths of these are not told apart, since there is no end
// to them.
var unmatched = &route{path: "unmatched"}

// handler serves the routes that are chosen, to those who may ask; where open, to everybody.
func (s *Server) handler(open bool, chosen func(*route) bool) http.Handler {
	e := echo.New()
	for _, rt := range s.routes {
		if !chosen(rt) {
			continue
		}
		handle := func(x *exchange) error {
			if rt.admin && !s.config.AdminAPI {
				return x.notEnabled()
			}
			if err := x.admit(); err != nil {
				return err
			}
			return rt.handle(x)
		}
		if open || len(rt.roles) == 0 {
			handle = func(x *exchange) error { return rt.handle(x) }
		}
		e.Add(rt.method, rt.path, func(c echo.Context) error {
			s.run(rt, c, handle)
			return nil
		})
	}
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		s.run(unmatched, c, func(*exchange) error { return err })
	}
	return e
}

var pathParameter = regexp.MustCompile(`:(\w+)`)

// template is the path as the description writes it.
func (rt *route) template() string {
	return pathParameter.ReplaceAllString(strings.Replace(rt.path, "*", "{path}", 1), "{$1}")
}
