package rendezvous

import (
	"time"

	"github.com/go-json-experiment/json"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// verdictState keeps the verdict as text, and decoded as long as the end is.
type verdictState struct {
	raw           []byte
	verdict, told *v1.Verdict
	// groups are the probed groups by kind and rank.
	groups map[groupKey]*v1.Group
	// unanswered counts the members whose answers are missing.
	unanswered int
}

type groupKey struct {
	kind string
	rank int64
}

// endState keeps the record as text, and decoded only as long as ranks are likely to ask for it. What a list of all engines
// says of it is kept apart.
type endState struct {
	record *endRecord
	raw    []byte
	time   time.Time
	// outcome is an admission's, else the kind of the end; headline is the first line of the message.
	outcome, headline string
	reported          int64
}

// read returns the whole verdict.
func (v *verdictState) read() (*v1.Verdict, error) {
	if v.verdict != nil {
		return v.verdict, nil
	}
	verdict := new(v1.Verdict)
	return verdict, json.Unmarshal(v.raw, verdict)
}

// cool lets go of what is rarely asked for.
func (a *attempt) cool() {
	if a.end != nil {
		a.end.record = nil
	}
	if a.verdict != nil {
		a.verdict.verdict, a.verdict.told = nil, nil
	}
}

// read returns the whole record.
func (e *endState) read() (*endRecord, error) {
	if e.record != nil {
		return e.record, nil
	}
	record := new(endRecord)
	return record, json.Unmarshal(e.raw, record)
}
