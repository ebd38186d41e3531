package topology

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// scanned is up to how many names a search by comparison is faster than hashing.
const scanned = 16

// interner numbers distinct names in the order in which they come.
type interner struct {
	list  []string
	index hashIndex
	last  int32
}

func newInterner(capacity int) interner { return interner{list: make([]string, 0, capacity)} }

// find returns the number of a name, or -1. Workers mostly come in the order of their nodes, so that the name found last
// and its successor are tried first.
func (n *interner) find(name string) int32 {
	for i := n.last; i < n.last+2 && int(i) < len(n.list); i++ {
		if n.list[i] == name {
			n.last = i
			return i
		}
	}
	found := int32(-1)
	if n.index.slots == nil {
		found = int32(slices.Index(n.list, name))
	} else {
		found = n.index.find(maphash.String(hashSeed, name), func(i int32) bool { return n.list[i] == name })
	}
	if found >= 0 {
		n.last = found
	}
	return found
}

// add returns the number of a name and whether it is new.
func (n *interner) add(name string) (int32, bool) {
	if i := n.find(name); i >= 0 {
		return i, false
	}
	i := int32(len(n.list))
	n.list = append(n.list, name)
	n.last = i
	if len(n.list) > scanned {
		if !n.index.put(maphash.String(hashSeed, name), i) {
			n.index = newHashIndex(cap(n.list))
			for at, known := range n.list {
				n.index.put(maphash.String(hashSeed, known), int32(at))
			}
		}
	}
	return i, true
}

// hashIndex finds numbers by the hash of what they stand for. Beside a map it holds no pointers, so that thousands of node
// ids per request cost the garbage collector nothing.
type hashIndex struct {
	// slots holds numbers counted from 1, each at its hash or in the next free slot; the length is a power of two.
	slots []int32
	used  int
}

// hashSeed keeps documents from choosing names that collide.
var hashSeed = maphash.MakeSeed()

func newHashIndex(capacity int) hashIndex {
	return hashIndex{slots: make([]int32, 1<<bits.Len(uint(2*capacity)))}
}

// find returns the number with this hash that is the one looked for, or -1.
func (h *hashIndex) find(hash uint64, is func(int32) bool) int32 {
	mask := uint64(len(h.slots) - 1)
	for at := hash & mask; h.slots[at] != 0; at = (at + 1) & mask {
		if number := h.slots[at] - 1; is(number) {
			return number
		}
	}
	return -1
}

// put adds a number that is not in the index, unless that would fill more than half of it.
func (h *hashIndex) put(hash uint64, number int32) bool {
	if 2*h.used >= len(h.slots) {
		return false
	}
	mask, at := uint64(len(h.slots)-1), hash
	for at &= mask; h.slots[at] != 0; at = (at + 1) & mask {
	}
	h.slots[at] = number + 1
	h.used++
	return true
}
