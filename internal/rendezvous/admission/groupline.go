package admission

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// groupLine says of a group where its ranks are, what the facts say where the probe contradicts them, and what each
// rank found.
func (c *ruling) groupLine(g *group) string {
	line := g.Kind + " group of " + RankList(g.Ranks)
	if domains := c.members.domainsOf(g.Ranks); domains > 1 {
		line += fmt.Sprintf(" spans %d memory domains", domains)
	}
	line += ": " + Located(g.Ranks, c.members.node)
	clauses := strings.Join(c.members.clauses(g), "; ")
	switch {
	case g.contradiction == nil:
		return line + "; " + clauses
	case clauses == "":
		return line + "; the facts say that " + c.members.contradictionText(g)
	case g.contradiction.factsShare:
		return line + "; the facts say that " + c.members.contradictionText(g) + ", but " + clauses
	default:
		return line + "; the facts say that " + c.members.contradictionText(g) + "; " + clauses
	}
}

// domainsOf counts the memory domains that ranks are known to be in.
func (m *members) domainsOf(ranks []int64) int {
	known := make(map[int64]bool)
	for _, rank := range ranks {
		if domain := m.domain(rank); domain != unknownDomain {
			known[domain] = true
		}
	}
	return len(known)
}

// contradictionText is what the facts say of two ranks, and where they do not share memory, what the probe does.
func (m *members) contradictionText(g *group) string {
	a, b := g.contradiction.first, g.contradiction.second
	switch {
	case g.contradiction.factsShare:
		return fmt.Sprintf("ranks %d and %d share memory (%s)", a, b, seen(&m.report(a).Facts))
	case a == g.leader:
		return m.apartText(g.contradiction) + fmt.Sprintf(", but rank %d read the nonce in rank %d's segment", b, a)
	default:
		return m.apartText(g.contradiction) + fmt.Sprintf(", but both read the nonce in rank %d's segment", g.leader)
	}
}

func (m *members) apartText(c *contradiction) string {
	return fmt.Sprintf("ranks %d and %d do not share memory (%s; %s)", c.first, c.second, seen(&m.report(c.first).Facts),
		seen(&m.report(c.second).Facts))
}

// clause is what some ranks found alike.
type clause struct {
	outcome, reason string
	ranks           []int64
}

// maxClauses is how many different findings of a group are told.
const maxClauses = 4

// clauses tell what the members found that is not shared, alike findings together. The one about a contradiction is
// first.
func (m *members) clauses(g *group) []string {
	if _, reason := segmentOf(g.leader, m.report(g.leader)); reason != "" && len(g.Members) > 0 {
		return []string{reason}
	}
	var list []clause
	for i := range g.Members {
		p := &g.Members[i]
		reason := p.Reason
		if p.Outcome == v1.NotShared && reason != otherNonce {
			reason, _, _ = strings.Cut(reason, ":")
		}
		at := slices.IndexFunc(list, func(c clause) bool { return c.outcome == p.Outcome && c.reason == reason })
		switch {
		case at >= 0:
			list[at].ranks = append(list[at].ranks, p.Rank)
		case len(list) < maxClauses:
			list = append(list, clause{p.Outcome, reason, []int64{p.Rank}})
		default:
			list[maxClauses-1] = clause{"", "", append(list[maxClauses-1].ranks, p.Rank)}
		}
	}
	if g.contradiction != nil && g.contradiction.factsShare {
		about := func(c clause) bool { return slices.Contains(c.ranks, g.contradiction.second) }
		at := slices.IndexFunc(list, about)
		list[0], list[at] = list[at], list[0]
	}
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = c.text(g.leader)
	}
	return texts
}

func (c *clause) text(leader int64) string {
	ranks := RankList(c.ranks)
	switch {
	case c.outcome == v1.NotShared && c.reason == otherNonce:
		return ranks + " read " + otherNonce
	case c.outcome == v1.NotShared:
		return fmt.Sprintf("%s could not open rank %d's segment (%s)", ranks, leader, c.reason)
	case c.outcome == "":
		return ranks + " give other reasons"
	default:
		return fmt.Sprintf("%s could not tell about rank %d's segment (%s)", ranks, leader, c.reason)
	}
}

// factsLine says what was seen on the nodes of groups that are rejected without a contradiction, which says that
// itself.
func (c *ruling) factsLine() string {
	const most = 6
	met := make(map[int32]bool)
	var texts []string
	for _, g := range c.unproved[:min(len(c.unproved), maxGroups)] {
		if g.contradiction != nil {
			continue
		}
		for _, rank := range g.Ranks {
			at := c.members.index(rank)
			if at < 0 || met[c.members.places.of[at]] {
				continue
			}
			met[c.members.places.of[at]] = true
			if len(met) <= most {
				texts = append(texts, c.members.node(rank)+" has "+seen(&c.members.reports[at].Report.Facts))
			}
		}
	}
	if len(met) > most {
		texts = append(texts, count(len(met)-most, "more node"))
	}
	if len(texts) == 0 {
		return ""
	}
	return "facts: " + strings.Join(texts, "; ")
}

// seen is what a process knows of its memory domain.
func seen(f *v1.NodeFacts) string {
	boot, device := domainOf(f)
	text := "boot id " + clean(boot, maxName)
	if boot == "" {
		text = "no boot id" + absence(f, "boot_id")
	}
	if device == "" {
		return text + ", no /dev/shm device" + absence(f, "shm.device")
	}
	return text + ", /dev/shm " + clean(device, maxName)
}

// absence is why a fact is not there, for whose part or whole the process gave a reason.
func absence(f *v1.NodeFacts, fact string) string {
	for _, a := range f.Absent {
		if a.Fact == fact || strings.HasPrefix(fact, a.Fact+".") {
			return " (" + clean(a.Reason, maxReason) + ")"
		}
	}
	return ""
}
