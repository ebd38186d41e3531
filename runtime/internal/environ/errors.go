package environ

import (
	"fmt"
	"slices"
)

// Quantity is what a variable stands for.
type Quantity string

// The quantities.
const (
	Rank             Quantity = "rank"
	WorldSize        Quantity = "world size"
	LocalRank        Quantity = "local rank"
	LocalWorldSize   Quantity = "local world size"
	NodeRank         Quantity = "node rank"
	Nodes            Quantity = "number of nodes"
	DataParallelRank Quantity = "data-parallel rank"
	DataParallelSize Quantity = "data-parallel size"
	Deadline         Quantity = "deadline"
)

// Contradiction is two variables of launchers that should say the same and do not. Taken is the one whose launcher comes
// first in precedence.
type Contradiction struct {
	Quantity     Quantity
	Taken, Other Number
}

func (c *Contradiction) Error() string {
	return fmt.Sprintf("%s says the %s is %d, but %s says %d; unset or correct the one that is wrong",
		c.Taken.Source, c.Quantity, c.Taken.Value, c.Other.Source, c.Other.Value)
}

// VariableError is a variable with a value that cannot be taken.
type VariableError struct {
	Quantity        Quantity
	Variable, Value string
	// Allowed says what can be, as in "a rank is 0 to 3, since WORLD_SIZE is 4".
	Allowed string
}

func (e *VariableError) Error() string {
	return fmt.Sprintf("%s is %q, but %s; correct it or unset it", e.Variable, e.Value, e.Allowed)
}

// Known are the quantities that a caller knows better than the environment.
type Known struct{ Ranks, WorldSize, DataParallelRank, Deadline bool }

// Overrule drops what is said against quantities that the caller knows better.
func (e *Environment) Overrule(known Known) {
	settled := func(q Quantity) bool {
		switch q {
		case WorldSize:
			return known.WorldSize
		case DataParallelRank, DataParallelSize:
			return known.DataParallelRank
		case Deadline:
			return known.Deadline
		case Rank, LocalRank, LocalWorldSize, NodeRank, Nodes:
		}
		return known.Ranks
	}
	e.Contradictions = slices.DeleteFunc(e.Contradictions, func(c Contradiction) bool { return settled(c.Quantity) })
	e.Unreadable = slices.DeleteFunc(e.Unreadable, func(v VariableError) bool { return settled(v.Quantity) })
}
