package topology

import (
	"hash/maphash"
	"strings"
)

// evidence is what tells the memory domain of a node.
type evidence uint8

const (
	// opaque nodes may share memory with any other node.
	opaque evidence = iota
	// booted nodes have a boot id, which tells kernels apart; together with the device of /dev/shm it tells domains apart.
	booted
	// bare nodes have no boot id and are taken as hosts by their ids, which only a launcher may assume.
	bare
	// bareHost nodes have no boot id and use their host's own /dev/shm: two of them may be two containers of one host.
	bareHost
)

// relation is how the memory of two nodes is related, as far as it is known.
type relation uint8

const (
	unknown relation = iota
	shared
	apart
)

// domainKey identifies a memory domain. Device numbers are local to a kernel and hostnames prove nothing, so that only
// both together count (vLLM #52778, #43095).
type domainKey struct{ boot, device string }

// classify finds out what tells the domain of each node and numbers the domains: nodes with equal keys share one, any
// other node is alone in its own until a fact says more.
func (n *nodes) classify(stage string) {
	// Each key is found through the first node that has it.
	firsts := newHashIndex(len(n.list))
	for i := range n.list {
		node := &n.list[i]
		key, host := node.key()
		node.evidence = weigh(key, host, stage)
		node.domain = int32(n.domains)
		if key.boot != "" && key.device != "" {
			hash := maphash.Comparable(hashSeed, key)
			first := firsts.find(hash, func(other int32) bool {
				known, _ := n.list[other].key()
				return known == key
			})
			if first >= 0 {
				node.domain = n.list[first].domain
				continue
			}
			firsts.put(hash, int32(i))
		}
		n.domains++
	}
}

// key returns what is known of the domain, and whether /dev/shm is the host's own.
func (n *node) key() (domainKey, bool) {
	switch {
	case n.facts == nil:
		return domainKey{}, false
	case n.facts.Shm == nil:
		return domainKey{boot: n.facts.BootID}, false
	default:
		return domainKey{n.facts.BootID, n.facts.Shm.Device}, n.facts.Shm.Host
	}
}

// weigh says what a node's facts prove. At registration a worker reads its own boot id and device; where it could not,
// nothing is assumed.
func weigh(key domainKey, host bool, stage string) evidence {
	switch {
	case stage == StageRegistration && (key.boot == "" || key.device == ""):
		return opaque
	case key.boot != "":
		return booted
	case host:
		return bareHost
	default:
		return bare
	}
}

// relate compares two nodes.
func (n *nodes) relate(a, b int32) relation {
	var s spread
	s.add(&n.list[a])
	s.add(&n.list[b])
	return s.relation()
}

// spread folds any number of nodes into whether they share memory: apart if some pair is known to be apart, else unknown if
// some pair is unknown, else shared. It holds one witness of each evidence instead of comparing all pairs.
type spread struct {
	first, boot, bare *node
	device            string
	// mixed: more than one domain, or a rank without a node. bares: more than one bare node. private: one of them is no
	// bareHost.
	mixed, apart, bares, private bool
}

// add takes one more node; nil is the unknown node of a rank.
func (s *spread) add(n *node) {
	if n == nil {
		s.mixed = true
		return
	}
	if s.first == nil {
		s.first = n
	} else if n.domain != s.first.domain {
		s.mixed = true
	}
	switch n.evidence {
	case booted:
		s.addBooted(n)
	case bare, bareHost:
		s.bares = s.bares || s.bare != nil && s.bare != n
		s.private = s.private || n.evidence == bare
		s.bare = n
		s.apart = s.apart || s.bares && s.private
	case opaque:
	}
}

func (s *spread) addBooted(n *node) {
	key, _ := n.key()
	switch {
	case s.boot == nil:
		s.boot = n
	case s.boot.facts.BootID != key.boot:
		s.apart = true
	}
	switch {
	case s.device == "":
		s.device = key.device
	case key.device != "" && key.device != s.device:
		s.apart = true
	}
}

func (s *spread) relation() relation {
	switch {
	case s.apart:
		return apart
	case s.mixed:
		return unknown
	default:
		return shared
	}
}

// missing names the facts without which a node cannot be compared, or is empty.
func (n *node) missing() string {
	key, _ := n.key()
	var absent []string
	if key.boot == "" {
		absent = append(absent, "boot_id")
	}
	if key.device == "" {
		absent = append(absent, "shm.device")
	}
	if absent == nil {
		return ""
	}
	return strings.Join(absent, " and ") + " of node " + n.id
}
