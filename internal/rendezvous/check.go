package rendezvous

import (
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// The limits of a report.
const (
	shortestDeadlineMS = 1000
	longestDeadlineMS  = 3600_000
	incarnationDigits  = 32
	maxGroupKinds      = 16
)

// checkReport refuses what contradicts itself. What contradicts other ranks is for the verdict.
func checkReport(rank int64, r *v1.Report) error {
	switch {
	case r.WorldSize < 1 || r.WorldSize > MaxWorld:
		return invalid("/world_size", "world_size is %d, allowed are 1 to %d", r.WorldSize, MaxWorld)
	case rank < 0 || rank >= r.WorldSize:
		return invalid("/world_size", "rank %d is not in a world of %d: ranks are those within the replica, 0 to world_size-1; "+
			"with data parallelism, not the global ones", rank, r.WorldSize)
	case r.DataParallelRank < 0:
		return invalid("/data_parallel_rank", "data_parallel_rank is %d, allowed is 0 or more", r.DataParallelRank)
	case r.DeadlineMS < shortestDeadlineMS || r.DeadlineMS > longestDeadlineMS:
		return invalid("/deadline_ms", "deadline_ms is %d, allowed are %d to %d", r.DeadlineMS, shortestDeadlineMS, longestDeadlineMS)
	case len(r.Groups) > maxGroupKinds:
		return invalid("/groups", "groups has %d kinds, allowed are %d", len(r.Groups), maxGroupKinds)
	}
	if err := checkIncarnation(r.Incarnation); err != nil {
		return err
	}
	for kind, ranks := range r.Groups {
		if int64(len(ranks)) > r.WorldSize && slices.Contains([]string{"tp", "pp", "pcp"}, kind) {
			return invalid("/groups/"+kind, "group %s has %d ranks in a world of %d", kind, len(ranks), r.WorldSize)
		}
	}
	return checkSegment(r.Segment)
}

func checkIncarnation(incarnation string) error {
	if len(incarnation) != incarnationDigits || strings.Trim(incarnation, "0123456789abcdef") != "" {
		return invalid("/incarnation", "incarnation is %.40q, allowed are %d hex digits in lower case", incarnation, incarnationDigits)
	}
	return nil
}

// segmentPrefix begins the names of probe segments, so that no rank can be told to open another file.
const segmentPrefix = "tiergate-probe-"

// checkSegment refuses names that are not those of a probe: other ranks will open them.
func checkSegment(s *v1.Segment) error {
	switch {
	case s == nil || s.Error != nil && s.Name == "" && s.SHA256 == "":
		return nil
	case s.Error != nil:
		return invalid("/segment", "a segment has a name and a hash, or an error, not both")
	case !strings.HasPrefix(s.Name, segmentPrefix) || len(s.Name) > 255 || strings.ContainsAny(s.Name, "/\x00"):
		return invalid("/segment/name", "segment name is %.60q, allowed are file names that begin with %s", s.Name, segmentPrefix)
	case len(s.SHA256) != 64 || strings.Trim(s.SHA256, "0123456789abcdef") != "":
		return invalid("/segment/sha256", "sha256 is %.70q, allowed are 64 hex digits in lower case", s.SHA256)
	}
	return nil
}
