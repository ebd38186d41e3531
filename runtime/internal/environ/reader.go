package environ

import (
	"fmt"
	"strconv"
)

// reader collects into an Environment.
type reader struct {
	values map[string]string
	into   *Environment
}

// number reads the first of the variables that is set; least is the smallest value allowed.
func (r *reader) number(q Quantity, name string, least int64) Number {
	text := r.values[name]
	if text == "" {
		return Number{}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least {
		r.unreadable(q, name, fmt.Sprintf("a %s is a whole number from %d", q, least))
		return Number{}
	}
	return Number{n, name}
}

// either reads the first of two variables that is set.
func (r *reader) either(q Quantity, first, second string, least int64) Number {
	if r.values[first] != "" {
		return r.number(q, first, least)
	}
	return r.number(q, second, least)
}

func (r *reader) unreadable(q Quantity, name, allowed string) {
	r.into.Unreadable = append(r.into.Unreadable, VariableError{q, name, r.values[name], allowed})
}

// below drops an index that is not below its count.
func (r *reader) below(q Quantity, index *Number, count Number) {
	if index.Known() && count.Known() && index.Value >= count.Value {
		r.unreadable(q, index.Source, fmt.Sprintf("a %s is 0 to %d where %s is %d", q, count.Value-1, count.Source, count.Value))
		*index = Number{}
	}
}

// agree takes the first value that is known and reports those that differ from it.
func (r *reader) agree(q Quantity, candidates ...Number) (taken Number) {
	for _, n := range candidates {
		switch {
		case !n.Known():
		case !taken.Known():
			taken = n
		case n.Value != taken.Value:
			r.into.Contradictions = append(r.into.Contradictions, Contradiction{q, taken, n})
		}
	}
	return taken
}
