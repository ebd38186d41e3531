package host

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"
)

// The type tags and number representations of OPA's C runtime (wasm/src/value.h, ABI 1.3).
const (
	tagNull            = 1
	tagBoolean         = 2
	tagNumber          = 3
	tagString          = 4
	tagArray           = 5
	tagObject          = 6
	tagSet             = 7
	tagStringInterned  = 8
	tagBooleanInterned = 9

	numberInt = 1
	numberRef = 2
)

// maxDepth bounds the nesting of inputs, results and arguments.
const maxDepth = 1000

// valueReader reads the module's values as Go values, for the arguments of host functions.
type valueReader struct {
	mem []byte
	// left is how many more bytes may be read; a value that contains another one many times over has no bound of its own.
	left int
}

// readBytes bounds the arguments of one call, maxDigits each number in them: to read one takes the square of its
// digits.
const (
	readBytes = 16 << 20
	maxDigits = 1000
)

func (in *Instance) readValue(addr uint32) (ast.Value, error) {
	r := valueReader{mem: in.memory(), left: readBytes}
	return r.value(addr, 0)
}

var (
	errBounds    = &Error{Kind: ErrTrap, Detail: "a value points beyond the memory"}
	errArguments = &Error{
		Kind: ErrMemory, Detail: fmt.Sprintf("the arguments of a host function exceed %d bytes", readBytes),
	}
)

func (r *valueReader) value(addr uint32, depth int) (ast.Value, error) {
	if depth > maxDepth {
		return nil, &Error{Kind: ErrStack, Detail: fmt.Sprintf("a value is nested deeper than %d", maxDepth)}
	}
	head, err := r.bytes(addr, 2)
	if err != nil || addr == 0 {
		return nil, errBounds
	}
	if r.left -= 64; r.left < 0 {
		return nil, errArguments
	}
	switch head[0] {
	case tagNull:
		return ast.Null{}, nil
	case tagBoolean, tagBooleanInterned:
		return ast.Boolean(head[1] != 0), nil
	case tagNumber:
		return r.number(addr, head[1])
	case tagString, tagStringInterned:
		s, err := r.text(addr+8, addr+4)
		return ast.String(s), err
	case tagArray:
		return r.array(addr, depth)
	case tagObject:
		return r.object(addr, depth)
	case tagSet:
		return r.set(addr, depth)
	default:
		return nil, &Error{Kind: ErrTrap, Detail: fmt.Sprintf("a value has the unknown type %d", head[0])}
	}
}

func (r *valueReader) bytes(addr, n uint32) ([]byte, error) {
	if uint64(addr)+uint64(n) > uint64(len(r.mem)) {
		return nil, errBounds
	}
	return r.mem[addr : addr+n], nil
}

// text reads the bytes whose address and number are at the two places.
func (r *valueReader) text(addr, n uint32) ([]byte, error) {
	where, ok := word(r.mem, addr)
	size, ok2 := word(r.mem, n)
	if !ok || !ok2 {
		return nil, errBounds
	}
	if r.left -= int(size); r.left < 0 {
		return nil, errArguments
	}
	return r.bytes(where, size)
}

func (r *valueReader) number(addr uint32, repr byte) (ast.Value, error) {
	if repr == numberInt {
		low, ok := word(r.mem, addr+8)
		high, ok2 := word(r.mem, addr+12)
		if !ok || !ok2 {
			return nil, errBounds
		}
		return ast.Number(strconv.FormatInt(int64(high)<<32|int64(low), 10)), nil
	}
	s, err := r.text(addr+8, addr+12)
	if err == nil && len(s) > maxDigits {
		err = &Error{Kind: ErrMemory, Detail: fmt.Sprintf("a number has more than %d digits", maxDigits)}
	}
	return ast.Number(json.Number(s)), err
}

// array reads {tag, elems *{index, value}, len, cap}.
func (r *valueReader) array(addr uint32, depth int) (ast.Value, error) {
	elems, ok := word(r.mem, addr+4)
	n, ok2 := word(r.mem, addr+8)
	if !ok || !ok2 {
		return nil, errBounds
	}
	var terms []*ast.Term
	for i := range n {
		elem, ok := word(r.mem, elems+i*8+4)
		if !ok {
			return nil, errBounds
		}
		v, err := r.value(elem, depth+1)
		if err != nil {
			return nil, err
		}
		terms = append(terms, ast.NewTerm(v))
	}
	return ast.NewArray(terms...), nil
}

// object reads the elements {key, value, next} of a hash table.
func (r *valueReader) object(addr uint32, depth int) (ast.Value, error) {
	object := ast.NewObject()
	err := r.elements(addr, 8, func(elem uint32) error {
		key, _ := word(r.mem, elem)
		value, _ := word(r.mem, elem+4)
		k, err := r.value(key, depth+1)
		if err != nil {
			return err
		}
		v, err := r.value(value, depth+1)
		if err == nil {
			object.Insert(ast.NewTerm(k), ast.NewTerm(v))
		}
		return err
	})
	return object, err
}

// set reads the elements {value, next} of a hash table.
func (r *valueReader) set(addr uint32, depth int) (ast.Value, error) {
	set := ast.NewSet()
	err := r.elements(addr, 4, func(elem uint32) error {
		value, _ := word(r.mem, elem)
		v, err := r.value(value, depth+1)
		if err == nil {
			set.Add(ast.NewTerm(v))
		}
		return err
	})
	return set, err
}

// elements visits the elements of {tag, buckets **elem, n, len}; next is the offset of an element's link.
func (r *valueReader) elements(addr, next uint32, visit func(elem uint32) error) error {
	buckets, ok := word(r.mem, addr+4)
	n, ok2 := word(r.mem, addr+8)
	for i := uint32(0); i < n && ok && ok2; i++ {
		var elem uint32
		for elem, ok = word(r.mem, buckets+i*4); ok && elem != 0; elem, ok = word(r.mem, elem+next) {
			if err := visit(elem); err != nil {
				return err
			}
		}
	}
	if !ok || !ok2 {
		return errBounds
	}
	return nil
}
