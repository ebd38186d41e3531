package admission

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// minNonce is the least number of bytes that nobody guesses.
const minNonce = 16

// maxReason is how many bytes are kept of why a rank could not tell.
const maxReason = 400

// otherNonce is the reason of a rank that read a file of the same name.
const otherNonce = "another nonce than the leader's, from a file of the same name in another /dev/shm"

// Segments are what a rank opens in its groups among those to probe, in their order: TP, PP, PCP. The leader of a
// group, its first rank, opens its own as well, which proves that it is there. A segment without a name is not to be
// opened.
func Segments(groups []v1.Group, reportOf func(rank int64) *v1.Report, rank int64) []v1.OpenSegment {
	var list []v1.OpenSegment
	for _, g := range groups {
		if !slices.Contains(g.Ranks, rank) {
			continue
		}
		s := v1.OpenSegment{Kind: g.Kind, Leader: g.Ranks[0]}
		if own, _ := segmentOf(s.Leader, reportOf(s.Leader)); own != nil {
			s.Name = own.name
		}
		list = append(list, s)
	}
	return list
}

// segment is a leader's segment that others can prove to have read.
type segment struct {
	name string
	hash []byte
}

// segmentOf is the segment of a leader, or why there is none.
func segmentOf(leader int64, r *v1.Report) (s *segment, reason string) {
	switch {
	case r == nil:
		return nil, fmt.Sprintf("rank %d has not reported", leader)
	case r.Segment == nil:
		return nil, fmt.Sprintf("rank %d made no segment: it does not take itself for the first of the group", leader)
	case r.Segment.Error != nil:
		return nil, fmt.Sprintf("rank %d made no segment (%s)", leader, failure(r.Segment.Error))
	}
	hash, err := hex.DecodeString(r.Segment.SHA256)
	if err != nil || len(hash) != sha256.Size || r.Segment.Name == "" {
		return nil, fmt.Sprintf("rank %d made no segment: its report has no name or no SHA-256 for it", leader)
	}
	return &segment{r.Segment.Name, hash}, ""
}

// failure is what failed on a rank, for people.
func failure(f *v1.LocalFail) string {
	if f == nil {
		return "no reason given"
	}
	text := clean(f.Errno, maxName)
	if detail := clean(f.Detail, maxReason); detail != "" {
		if text != "" {
			text += ": "
		}
		text += detail
	}
	return text
}

// Outcomes are what the answers of a rank come to, one for each segment that it was to open. A rank's own word is
// enough for not_shared and unknown; shared needs the leader's nonce.
func Outcomes(segments []v1.OpenSegment, reportOf func(rank int64) *v1.Report, answers []v1.ProbeAnswer) []v1.RankProbe {
	stray := strayAnswer(segments, answers)
	list := make([]v1.RankProbe, len(segments))
	for i, s := range segments {
		p := v1.RankProbe{Kind: s.Kind, Leader: s.Leader}
		own, reason := segmentOf(s.Leader, reportOf(s.Leader))
		at := slices.IndexFunc(answers, func(a v1.ProbeAnswer) bool { return a.Kind == s.Kind })
		switch {
		case own == nil:
			p.Outcome, p.Reason = v1.Unknown, reason
		case stray != "":
			p.Outcome, p.Reason = v1.Unknown, stray
		case at < 0:
			p.Outcome, p.Reason = v1.Unknown, "no answer for this group"
		default:
			p.Outcome, p.Reason = own.judge(&answers[at])
		}
		list[i] = p
	}
	return list
}

// strayAnswer is not empty if answers are not one for each segment at most: then nobody knows what the rank did.
func strayAnswer(segments []v1.OpenSegment, answers []v1.ProbeAnswer) string {
	for i := range answers {
		kind := answers[i].Kind
		if slices.ContainsFunc(answers[:i], func(a v1.ProbeAnswer) bool { return a.Kind == kind }) {
			return "two answers for a group of kind " + clean(kind, maxName)
		}
		if !slices.ContainsFunc(segments, func(s v1.OpenSegment) bool { return s.Kind == kind }) {
			return "an answer for a group that was not asked for, of kind " + clean(kind, maxName)
		}
	}
	return ""
}

func (s *segment) judge(a *v1.ProbeAnswer) (outcome, reason string) {
	switch a.Outcome {
	case v1.NotShared, v1.Unknown:
		return a.Outcome, failure(a.Error)
	case v1.Shared:
	default:
		return v1.Unknown, "the answer has no outcome that is known: " + clean(a.Outcome, maxName)
	}
	nonce, err := hex.DecodeString(a.Nonce)
	if err != nil || len(nonce) < minNonce {
		return v1.Unknown, "the answer says shared without a nonce that can be read"
	}
	sum := sha256.Sum256(nonce)
	if subtle.ConstantTimeCompare(sum[:], s.hash) != 1 {
		return v1.NotShared, otherNonce
	}
	return v1.Shared, ""
}
