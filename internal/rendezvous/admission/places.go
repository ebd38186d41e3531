package admission

import (
	"fmt"
	"strconv"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// places are the nodes that ranks report from: one for each name, boot id and device, so that equal names never make
// one node of two memory domains. A rank that could not read its boot id or device has a place of its own, because two
// such ranks may be anywhere.
type places struct {
	names []string
	// first and of are indexes of reports: the first one of each place, and the place of each report.
	first []int
	of    []int32
}

type placeKey struct {
	name, boot, device string
	// alone is 1 + the rank of a place of its own.
	alone int64
}

func keyOf(r Ranked) placeKey {
	boot, device := domainOf(&r.Report.Facts)
	key := placeKey{name: NodeName(r.Report), boot: boot, device: device}
	if boot == "" || device == "" {
		key.alone = r.Rank + 1
	}
	return key
}

func findPlaces(reports []Ranked) *places {
	p := &places{of: make([]int32, len(reports))}
	var nodes []string
	index := make(map[placeKey]int32)
	for i, r := range reports {
		key := keyOf(r)
		at, known := index[key]
		if !known {
			at = int32(len(p.first))
			index[key] = at
			p.first, nodes = append(p.first, i), append(nodes, key.name)
		}
		p.of[i] = at
	}
	p.name(nodes, reports)
	return p
}

// name gives every place a name of its own: the node's, and what tells places apart where several have that.
func (p *places) name(nodes []string, reports []Ranked) {
	p.names = make([]string, len(nodes))
	bearers := make(map[string]int, len(nodes))
	for _, name := range nodes {
		bearers[name]++
	}
	used, last := make(map[string]bool, len(nodes)), make(map[string]int, len(nodes))
	for at, name := range nodes {
		if bearers[name] > 1 {
			name += distinction(reports[p.first[at]])
		}
		for base := name; used[name]; {
			last[base] = max(last[base], 1) + 1
			name = base + " #" + strconv.Itoa(last[base])
		}
		used[name] = true
		p.names[at] = name
	}
}

// distinction tells a place from others of the same node name.
func distinction(r Ranked) string {
	facts := &r.Report.Facts
	switch boot, device := domainOf(facts); {
	case boot == "" || device == "":
		return fmt.Sprintf(" (rank %d)", r.Rank)
	case facts.Pod != "":
		return " (pod " + clean(facts.Pod, maxName) + ")"
	default:
		return ""
	}
}

// nodes are the places with what was reported of them: the smallest sizes, and all leftover files.
func (p *places) nodes(reports []Ranked) []v1.Node {
	list := make([]v1.Node, len(p.first))
	stale := make([]leftovers, len(p.first))
	for at, i := range p.first {
		boot, device := domainOf(&reports[i].Report.Facts)
		list[at] = v1.Node{ID: p.names[at], BootID: boot, Hostname: reports[i].Report.Facts.Hostname}
		if reports[i].Report.Facts.Shm != nil {
			list[at].Shm = &v1.Shm{Device: device}
		}
	}
	for i, r := range reports {
		n, facts := &list[p.of[i]], &r.Report.Facts
		if facts.Memory != nil && size(facts.Memory.LimitBytes) != nil {
			if n.Memory == nil {
				n.Memory = &v1.Memory{}
			}
			n.Memory.LimitBytes = smaller(n.Memory.LimitBytes, facts.Memory.LimitBytes)
		}
		if facts.Shm == nil {
			continue
		}
		n.Shm.TotalBytes = smaller(n.Shm.TotalBytes, size(facts.Shm.TotalBytes))
		n.Shm.FreeBytes = smaller(n.Shm.FreeBytes, size(facts.Shm.FreeBytes))
		n.Shm.StaleRegions = stale[p.of[i]].add(n.Shm.StaleRegions, facts.Shm.StaleRegions)
	}
	return list
}

// size is a number of bytes, nil where none was reported or one that cannot be.
func size(bytes *int64) *int64 {
	if bytes == nil || *bytes < 0 {
		return nil
	}
	return bytes
}

func smaller(a, b *int64) *int64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// leftovers are the indexes of the files of one place by name.
type leftovers map[string]int

// add takes what one more rank saw: nil where it did not look, and each file once, with the largest size.
func (l *leftovers) add(list, seen []v1.StaleRegion) []v1.StaleRegion {
	if seen == nil {
		return list
	}
	if list == nil {
		list = []v1.StaleRegion{}
	}
	if *l == nil && len(seen) > 0 {
		*l = make(leftovers, len(seen))
	}
	for _, region := range seen {
		region.Bytes = max(region.Bytes, 0)
		at, known := (*l)[region.Name]
		if !known {
			(*l)[region.Name] = len(list)
			list = append(list, region)
			continue
		}
		list[at].Bytes = max(list[at].Bytes, region.Bytes)
	}
	return list
}
