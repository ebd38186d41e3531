package topology

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// The bounds of a search for a near name keep an error cheap, whatever the document holds.
const (
	nearestLength     = 64
	nearestCandidates = 4096
)

// Nearest returns the candidate that a misspelt name most likely means, or empty where none is within a third of the name's
// length. Case and separators do not count, so that kvTransfer and kv-transfer are near kv_transfer.
func Nearest(name string, candidates []string) string {
	if len(name) > nearestLength {
		return ""
	}
	name = spelling(name)
	best, limit := "", max(len(name)/3, 1)+1
	for _, candidate := range candidates[:min(len(candidates), nearestCandidates)] {
		plain := spelling(candidate)
		if len(plain) > len(name)+limit || len(plain) < len(name)-limit {
			continue
		}
		if distance := levenshtein.ComputeDistance(name, plain); distance < limit {
			best, limit = candidate, distance
		}
	}
	return best
}

var separators = strings.NewReplacer("_", "", "-", "")

func spelling(name string) string { return separators.Replace(strings.ToLower(name)) }
