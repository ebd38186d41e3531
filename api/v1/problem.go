package v1

// Problem is an application/problem+json document (RFC 9457): why a request got no answer. Code is stable and meant for
// programs; Title and Detail are meant for people.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail,omitempty"`
	// Pointer is the JSON pointer of the offending value in the request body.
	Pointer string `json:"pointer,omitempty"`
	// Line is the line of the offending value in a YAML body, counted from 1.
	Line int `json:"line,omitempty"`
	// Nearest is the allowed name closest to an unknown one.
	Nearest string `json:"nearest,omitempty"`
	// Report is how the trial of a policy went that was refused, a PolicyReport.
	Report *PolicyReport `json:"report,omitempty"`
	// End is how an attempt ended that the request came too late for, or that its rank took part in.
	End *AttemptEnd `json:"end,omitempty"`
}

// Error makes a problem returned by a service usable as a Go error.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Code + ": " + p.Title
	}
	return p.Code + ": " + p.Detail
}
