package topology

import (
	"fmt"
	"strconv"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// unplaced is the node index of a rank whose node is not known.
const unplaced = -1

// nodes are the nodes of one launch, by index, with what is known of the memory they share.
type nodes struct {
	list    []node
	ids     interner
	domains int
}

// node is one host or container. Facts is nil where only a worker, the core or a derived placement names the node.
type node struct {
	id    string
	facts *v1.Node
	// domain is the index of the nodes known to share this one's memory.
	domain   int32
	evidence evidence
}

// readNodes takes the nodes of a launch and, where it lists none, those that its workers name. Two entries with one id, an
// empty id and negative sizes are input errors.
func readNodes(launch *v1.Launch) (nodes, error) {
	listed := launch.Nodes
	n := nodes{list: make([]node, 0, len(listed)), ids: newInterner(len(listed))}
	for i := range listed {
		if err := checkNode(&listed[i], i); err != nil {
			return n, err
		}
		first, added := n.ids.add(listed[i].ID)
		if !added {
			return n, &InputError{
				Code:    CodeDuplicateNode,
				Pointer: "/nodes/" + strconv.Itoa(i) + "/id",
				Detail: fmt.Sprintf("node id %q is already that of /nodes/%d; ids must differ: merge the entries or rename one",
					listed[i].ID, first),
			}
		}
		n.list = append(n.list, node{id: listed[i].ID, facts: &listed[i]})
	}
	if len(listed) > 0 {
		return n, nil
	}
	for i := range launch.Workers {
		id := launch.Workers[i].Node
		if id == "" {
			return n, emptyNodeID("/workers/" + strconv.Itoa(i) + "/node")
		}
		n.name(id)
	}
	return n, nil
}

// name returns the index of a node, new or not, of which nothing is known but its id.
func (n *nodes) name(id string) int32 {
	index, added := n.ids.add(id)
	if added {
		n.list = append(n.list, node{id: id})
	}
	return index
}

// resolve finds the node that a worker or the core names in a list of nodes that is not empty.
func (n *nodes) resolve(id, pointer string) (int32, error) {
	if index := n.ids.find(id); index >= 0 {
		return index, nil
	}
	if id == "" {
		return unplaced, emptyNodeID(pointer)
	}
	near := Nearest(id, n.ids.list)
	hint := "add it to nodes or correct the id"
	if near != "" {
		hint = fmt.Sprintf("did you mean %q? Otherwise add it to nodes", near)
	}
	return unplaced, &InputError{
		Code:    CodeUnknownNode,
		Pointer: pointer,
		Detail:  fmt.Sprintf("node %q is not among the %d listed nodes; %s", id, len(n.list), hint),
		Nearest: near,
	}
}

func emptyNodeID(pointer string) error {
	return &InputError{
		Code:    CodeEmptyNodeID,
		Pointer: pointer,
		Detail:  "the node id is empty; give each node an id of its own, such as its name",
	}
}

// checkNode refuses an empty id and negative sizes. A limit of -1 is how some tools write "no limit"; read as a number it
// would deny every launch.
func checkNode(n *v1.Node, index int) error {
	pointer := func(field string) string { return "/nodes/" + strconv.Itoa(index) + field }
	if n.ID == "" {
		return emptyNodeID(pointer("/id"))
	}
	if n.Memory != nil && negative(n.Memory.LimitBytes) {
		return negativeBytes(pointer("/memory/limit_bytes"), *n.Memory.LimitBytes)
	}
	if n.Shm == nil {
		return nil
	}
	if negative(n.Shm.TotalBytes) {
		return negativeBytes(pointer("/shm/total_bytes"), *n.Shm.TotalBytes)
	}
	if negative(n.Shm.FreeBytes) {
		return negativeBytes(pointer("/shm/free_bytes"), *n.Shm.FreeBytes)
	}
	for i, region := range n.Shm.StaleRegions {
		if region.Bytes < 0 {
			return negativeBytes(pointer("/shm/stale_regions/"+strconv.Itoa(i)+"/bytes"), region.Bytes)
		}
	}
	return nil
}

func negative(bytes *int64) bool { return bytes != nil && *bytes < 0 }

func negativeBytes(pointer string, bytes int64) error {
	return &InputError{
		Code:    CodeNegativeBytes,
		Pointer: pointer,
		Detail:  fmt.Sprintf("%d bytes; a size is 0 or more: leave the field out where there is no limit or no value", bytes),
	}
}
