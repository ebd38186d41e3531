package topology

// The kinds of groups, as vLLM names them.
const (
	TP  = "tp"
	PP  = "pp"
	PCP = "pcp"
	DCP = "dcp"
	DP  = "dp"
	EP  = "ep"
)

// DecodeRule is how an engine version forms its decode-context groups. Both rules give the same groups unless prefill
// context parallelism is in use too.
type DecodeRule int

const (
	// DecodePrefillFastest takes consecutive ranks in the order (d, p, t, c), c fastest: vLLM since prefill and decode
	// context parallelism are orthogonal axes (vLLM #46358). Fold uses it for the facts.
	DecodePrefillFastest DecodeRule = iota
	// DecodeConsecutive takes consecutive ranks in rank order, as vLLM did before.
	DecodeConsecutive
)

// Lines are all groups of one kind in a grid, as arithmetic: nothing is built until a group is asked for. Every rank is in
// exactly one of them. The zero value has no groups.
type Lines struct {
	Kind  string
	Size  int64
	Count int64

	// A rank at position i of group g is found by its place in an enumeration of all ranks, in blocks of block entries; how
	// depends on order. An axis of the grid has the stride of one step along it.
	order  order
	stride int64
	block  int64
}

type order int

const (
	axis order = iota
	stages
	prefillFastest
)

// Lines returns the groups of a kind other than DCP; a grid without ranks and an unknown kind have none.
func (g Grid) Lines(kind string) Lines {
	plane := g.Tensor * g.PrefillContext
	switch kind {
	case TP:
		return g.axis(kind, g.Tensor, 1)
	case PCP:
		return g.axis(kind, g.PrefillContext, g.Tensor)
	case PP:
		return g.axis(kind, g.Pipeline, plane)
	case DP:
		return g.axis(kind, g.Data, g.Replica())
	case EP:
		if g.World() == 0 {
			return Lines{Kind: kind}
		}
		// An expert-parallel group is one pipeline stage of all replicas.
		return Lines{Kind: kind, Size: g.Data * plane, Count: g.Pipeline, order: stages, stride: g.Replica(), block: plane}
	}
	return Lines{Kind: kind}
}

// DecodeLines returns the DCP groups of the given size. A size that does not divide the replica gives none: it is
// parallel.config's to report.
func (g Grid) DecodeLines(size int64, rule DecodeRule) Lines {
	if size < 1 || g.World() == 0 || g.Replica()%size != 0 {
		return Lines{Kind: DCP}
	}
	lines := g.axis(DCP, size, 1)
	if rule == DecodePrefillFastest && size > 1 && g.PrefillContext > 1 {
		lines.order, lines.stride, lines.block = prefillFastest, g.Tensor, g.Tensor*g.PrefillContext
	}
	return lines
}

func (g Grid) axis(kind string, size, stride int64) Lines {
	if g.World() == 0 {
		return Lines{Kind: kind}
	}
	return Lines{Kind: kind, Size: size, Count: g.World() / size, order: axis, stride: stride, block: stride * size}
}

// Append adds the ranks of a group, 0 <= group < Count, to dst in group order.
func (l Lines) Append(dst []int64, group int64) []int64 {
	switch l.order {
	case axis:
		first := group/l.stride*l.block + group%l.stride
		for i := range l.Size {
			dst = append(dst, first+i*l.stride)
		}
	case stages:
		for i := range l.Size {
			dst = append(dst, i/l.block*l.stride+group*l.block+i%l.block)
		}
	case prefillFastest:
		prefill := l.block / l.stride
		for place := group * l.Size; place < (group+1)*l.Size; place++ {
			within := place % l.block
			dst = append(dst, place-within+within%prefill*l.stride+within/prefill)
		}
	}
	return dst
}

// GroupOf is the group that a rank of the grid is in.
func (l Lines) GroupOf(rank int64) int64 {
	switch l.order {
	case stages:
		return rank % l.stride / l.block
	case prefillFastest:
		prefill, within := l.block/l.stride, rank%l.block
		return (rank - within + within%l.stride*prefill + within/l.stride) / l.Size
	default:
		return rank/l.block*l.stride + rank%l.stride
	}
}
