package rendezvous

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// Key names an engine. Tenants neither share nor see engines.
type Key struct{ Tenant, Engine string }

// Caller is who calls about an engine.
type Caller struct {
	Key
	// By is the identity that calls. An attempt is bound to the one that opened it; empty is one that no attempt refuses.
	By string
}

// The kinds of records of an attempt, in the order in which they are written.
const (
	recordSpec    = "spec"
	recordReport  = "report"  // of a rank
	recordRival   = "rival"   // of a rank: another incarnation wants its place
	recordVerdict = "verdict" //
	recordAnswers = "answers" // of some ranks; its rank is a random number
	recordEnd     = "end"
	recordCore    = "core"
)

// recordKey is the address of a record. Rank is -1 for kinds that have none. The record that opens an attempt is addressed by
// the attempt's number alone, for which all compete; the others also by its id, because numbers begin again when an engine
// has been forgotten, and a record of an older attempt may outlive it.
type recordKey struct {
	Key
	attempt int64
	id      string
	kind    string
	rank    int64
}

// String is the name in the journal: tokens that any store can have in a key.
func (k recordKey) String() string {
	name := encodeToken(k.Tenant) + "." + encodeToken(k.Engine) + "." + strconv.FormatInt(k.attempt, 10) + "."
	if k.kind == recordSpec {
		return name + recordSpec
	}
	return name + k.id + "." + k.kind + "." + strconv.FormatInt(k.rank, 10)
}

// parseKey reads what String wrote.
func parseKey(name string) (recordKey, bool) {
	parts := strings.Split(name, ".")
	k := recordKey{rank: -1}
	var err error
	switch {
	case len(parts) == 4 && parts[3] == recordSpec:
		k.kind = recordSpec
	case len(parts) == 6:
		k.id, k.kind = parts[3], parts[4]
		k.rank, err = strconv.ParseInt(parts[5], 10, 64)
	default:
		return recordKey{}, false
	}
	var tenant, engine bool
	k.Tenant, tenant = decodeToken(parts[0])
	k.Engine, engine = decodeToken(parts[1])
	n, badNumber := strconv.ParseInt(parts[2], 10, 64)
	k.attempt = n
	return k, err == nil && tenant && engine && badNumber == nil && n > 0 && k.rank >= -1
}

// emptyToken stands for the empty text, which no token can be.
const emptyToken = "="

func encodeToken(text string) string {
	if text == "" {
		return emptyToken
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

func decodeToken(token string) (string, bool) {
	if token == emptyToken {
		return "", true
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	return string(text), err == nil && len(text) > 0
}

// specRecord opens an attempt and fixes what all its ranks must agree on, and its times.
type specRecord struct {
	ID    string `json:"id"`
	World int64  `json:"world"`
	// By is the identity that opened the attempt.
	By string `json:"by,omitempty"`
	// The lengths of the phases.
	ReportMS int64 `json:"report_ms"`
	ProbeMS  int64 `json:"probe_ms"`
}

func (s *specRecord) report() time.Duration { return time.Duration(s.ReportMS) * time.Millisecond }
func (s *specRecord) probe() time.Duration  { return time.Duration(s.ProbeMS) * time.Millisecond }

// rivalRecord asks whoever serves the incarnation that has the rank to say so.
type rivalRecord struct {
	Incarnation string `json:"incarnation"`
}

// verdictRecord is the policy's answer, as it wrote it.
type verdictRecord struct {
	Verdict jsontext.Value `json:"verdict"`
}

// answersRecord is what came in while the record before it was written.
type answersRecord struct {
	Answers []answer `json:"answers"`
}

// answer is what the probe of a rank came to; nonces are not kept.
type answer struct {
	Rank        int64          `json:"rank"`
	Incarnation string         `json:"incarnation"`
	Outcomes    []v1.RankProbe `json:"outcomes"`
}

// endRecord is how an attempt ended, with all that is told of it later: reports and answers expire soon after it.
type endRecord struct {
	v1.AttemptEnd
	// Nonce tells the writer that its record is the one that counts.
	Nonce     string        `json:"nonce"`
	Admission *v1.Admission `json:"admission,omitempty"`
	Digests   []string      `json:"digests,omitempty"`
	Bound     []boundRank   `json:"bound,omitempty"`
	Views     []v1.RankView `json:"views"`
	Parallel  *v1.Parallel  `json:"parallel,omitempty"`
	DPRank    int64         `json:"dp_rank,omitempty"`
	First     *v1.NodeFacts `json:"first,omitempty"`
	// CoreFree: the site does not want the engine core to be compared with rank 0.
	CoreFree bool    `json:"core_free,omitempty"`
	Missing  []int64 `json:"missing,omitempty"`
}

// boundRank is what an admission is bound to, for one rank. Digest counts in Digests.
type boundRank struct {
	Rank        int64  `json:"rank"`
	Incarnation string `json:"incarnation"`
	Digest      int    `json:"digest"`
	Segment     string `json:"segment,omitempty"`
}

// coreRecord is the answer to an engine core.
type coreRecord struct {
	Incarnation string           `json:"incarnation"`
	Admission   v1.CoreAdmission `json:"admission"`
}

func encode(record any) []byte {
	text, err := json.Marshal(record)
	if err != nil {
		panic("encode record: " + err.Error()) // records are plain data
	}
	return text
}
