package admission_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "github.com/tiergate/tiergate/api/v1"
	"github.com/tiergate/tiergate/internal/rendezvous/admission"
)

var (
	nonce     = []byte("a nonce of thirty-two bytes, so.")
	nonceHash = func() string { sum := sha256.Sum256(nonce); return hex.EncodeToString(sum[:]) }()
	told      = hex.EncodeToString(nonce)
)

func reporting(segments map[int64]*v1.Segment) func(int64) *v1.Report {
	return func(rank int64) *v1.Report {
		if segment, ok := segments[rank]; ok {
			return &v1.Report{Segment: segment}
		}
		return nil
	}
}

func TestSegmentsToOpen(t *testing.T) {
	probe := []v1.Group{
		{Kind: "tp", Ranks: []int64{0, 1}},
		{Kind: "tp", Ranks: []int64{2, 3}},
		{Kind: "pp", Ranks: []int64{0, 2}},
		{Kind: "pp", Ranks: []int64{1, 3}},
	}
	reportOf := reporting(map[int64]*v1.Segment{
		0: {Name: "tiergate-probe-0", SHA256: nonceHash},
		1: {Error: &v1.LocalFail{Errno: "ENOSPC"}},
		2: {Name: "tiergate-probe-2", SHA256: nonceHash},
	})
	for rank, want := range [][]v1.OpenSegment{
		{{Kind: "tp", Leader: 0, Name: "tiergate-probe-0"}, {Kind: "pp", Leader: 0, Name: "tiergate-probe-0"}},
		{{Kind: "tp", Leader: 0, Name: "tiergate-probe-0"}, {Kind: "pp", Leader: 1}},
		{{Kind: "tp", Leader: 2, Name: "tiergate-probe-2"}, {Kind: "pp", Leader: 0, Name: "tiergate-probe-0"}},
		{{Kind: "tp", Leader: 2, Name: "tiergate-probe-2"}, {Kind: "pp", Leader: 1}},
	} {
		assert.Equal(t, want, admission.Segments(probe, reportOf, int64(rank)), rank)
	}
	assert.Empty(t, admission.Segments(nil, reportOf, 0))
}

// Only the leader's nonce makes an answer shared; whatever else comes is told with its reason.
func TestOutcomes(t *testing.T) {
	good := &v1.Segment{Name: "tiergate-probe-0", SHA256: nonceHash}
	say := func(a ...v1.ProbeAnswer) []v1.ProbeAnswer { return a }
	tp := func(outcome, nonce string) v1.ProbeAnswer {
		return v1.ProbeAnswer{Kind: "tp", Outcome: outcome, Nonce: nonce}
	}
	failed := func(outcome, errno, detail string) v1.ProbeAnswer {
		return v1.ProbeAnswer{Kind: "tp", Outcome: outcome, Error: &v1.LocalFail{Errno: errno, Detail: detail}}
	}
	const another = "another nonce than the leader's, from a file of the same name in another /dev/shm"
	const unreadable = "the answer says shared without a nonce that can be read"
	const nameless = "rank 0 made no segment: its report has no name or no SHA-256 for it"
	for _, test := range []struct {
		name    string
		leader  *v1.Segment
		answers []v1.ProbeAnswer
		outcome string
		reason  string
	}{
		{"the nonce", good, say(tp(v1.Shared, told)), v1.Shared, ""},
		{"the nonce in capitals", good, say(tp(v1.Shared, strings.ToUpper(told))), v1.Shared, ""},
		{"another nonce", good, say(tp(v1.Shared, strings.Repeat("00", 32))), v1.NotShared, another},
		{"a nonce and more", good, say(tp(v1.Shared, told+"00")), v1.NotShared, another},
		{"the hash itself", good, say(tp(v1.Shared, nonceHash)), v1.NotShared, another},
		{"no nonce", good, say(tp(v1.Shared, "")), v1.Unknown, unreadable},
		{
			"a nonce that can be guessed", &v1.Segment{Name: "x", SHA256: hashOf("short")},
			say(tp(v1.Shared, hex.EncodeToString([]byte("short")))), v1.Unknown, unreadable,
		},
		{"no hex", good, say(tp(v1.Shared, "not hex, but long enough for a nonce")), v1.Unknown, unreadable},
		{"half a byte", good, say(tp(v1.Shared, told[:63])), v1.Unknown, unreadable},
		{"not shared", good, say(failed(v1.NotShared, "ENOENT", "open x: no such file")), v1.NotShared, "ENOENT: open x: no such file"},
		{"not shared, with the nonce", good, say(tp(v1.NotShared, told)), v1.NotShared, "no reason given"},
		{"unknown", good, say(failed(v1.Unknown, "EACCES", "")), v1.Unknown, "EACCES"},
		{
			"a hostile reason", good, say(failed(v1.Unknown, "E\n", strings.Repeat("d", 999))), v1.Unknown,
			"E: " + strings.Repeat("d", 400) + "...",
		},
		{"no outcome", good, say(tp("", told)), v1.Unknown, "the answer has no outcome that is known: "},
		{"another outcome", good, say(tp("SHARED", told)), v1.Unknown, "the answer has no outcome that is known: SHARED"},
		{"no answer", good, nil, v1.Unknown, "no answer for this group"},
		{"two answers", good, say(tp(v1.Shared, told), tp(v1.Shared, told)), v1.Unknown, "two answers for a group of kind tp"},
		{
			"an answer too many", good, say(tp(v1.Shared, told), v1.ProbeAnswer{Kind: "pp", Outcome: v1.Shared}), v1.Unknown,
			"an answer for a group that was not asked for, of kind pp",
		},
		{
			"no segment", nil, say(tp(v1.Shared, told)), v1.Unknown,
			"rank 0 made no segment: it does not take itself for the first of the group",
		},
		{
			"a leader that failed", &v1.Segment{Error: &v1.LocalFail{Errno: "ENOSPC", Detail: "fallocate"}},
			say(tp(v1.Shared, told)), v1.Unknown, "rank 0 made no segment (ENOSPC: fallocate)",
		},
		{"a leader without a hash", &v1.Segment{Name: "x"}, say(tp(v1.Shared, told)), v1.Unknown, nameless},
		{"a leader with half a hash", &v1.Segment{Name: "x", SHA256: nonceHash[:32]}, say(tp(v1.Shared, told)), v1.Unknown, nameless},
		{"a leader without a name", &v1.Segment{SHA256: nonceHash}, say(tp(v1.Shared, told)), v1.Unknown, nameless},
	} {
		t.Run(test.name, func(t *testing.T) {
			reportOf := reporting(map[int64]*v1.Segment{0: test.leader})
			segments := admission.Segments([]v1.Group{{Kind: "tp", Ranks: []int64{0, 1}}}, reportOf, 1)
			assert.Equal(t, []v1.RankProbe{{Kind: "tp", Leader: 0, Outcome: test.outcome, Reason: test.reason}},
				admission.Outcomes(segments, reportOf, test.answers))
		})
	}
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestOutcomesWithoutTheLeader(t *testing.T) {
	segments := []v1.OpenSegment{{Kind: "tp", Leader: 7, Name: "x"}}
	assert.Equal(t, []v1.RankProbe{{Kind: "tp", Leader: 7, Outcome: v1.Unknown, Reason: "rank 7 has not reported"}},
		admission.Outcomes(segments, reporting(nil), []v1.ProbeAnswer{{Kind: "tp", Outcome: v1.Shared, Nonce: told}}))
}
