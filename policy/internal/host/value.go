package host

import (
	"encoding/json"
	"errors"
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

// maxDepth bounds recursion over values that a module built.
const maxDepth = 1000

var errBounds = errors.New("value out of bounds")

// readValue reads an opa_value from the module's memory.
func (in *Instance) readValue(addr uint32, depth int) (ast.Value, error) {
	if depth > maxDepth {
		return nil, errors.New("value nested too deeply")
	}
	tag, ok := in.mem.ReadByte(addr)
	if !ok || addr == 0 {
		return nil, errBounds
	}
	switch tag {
	case tagNull:
		return ast.Null{}, nil
	case tagBoolean, tagBooleanInterned:
		v, _ := in.mem.ReadByte(addr + 1)
		return ast.Boolean(v != 0), nil
	case tagNumber:
		return in.readNumber(addr)
	case tagString, tagStringInterned:
		s, err := in.readBytes(in.u32(addr+8), in.u32(addr+4))
		return ast.String(s), err
	case tagArray:
		return in.readArray(addr, depth)
	case tagObject, tagSet:
		return in.readHashed(addr, tag, depth)
	default:
		return nil, fmt.Errorf("unknown type tag %d", tag)
	}
}

func (in *Instance) u32(addr uint32) uint32 {
	v, _ := in.mem.ReadUint32Le(addr)
	return v
}

func (in *Instance) readBytes(addr, n uint32) ([]byte, error) {
	b, ok := in.mem.Read(addr, n)
	if !ok {
		return nil, errBounds
	}
	return b, nil
}

func (in *Instance) readNumber(addr uint32) (ast.Value, error) {
	repr, _ := in.mem.ReadByte(addr + 1)
	switch repr {
	case numberInt:
		i, _ := in.mem.ReadUint64Le(addr + 8)
		return ast.Number(json.Number(strconv.FormatInt(int64(i), 10))), nil
	case numberRef:
		s, err := in.readBytes(in.u32(addr+8), in.u32(addr+12))
		return ast.Number(json.Number(s)), err
	default:
		return nil, fmt.Errorf("unknown number representation %d", repr)
	}
}

// readArray reads {tag, elems *{index, value}, len, cap}.
func (in *Instance) readArray(addr uint32, depth int) (ast.Value, error) {
	elems, n := in.u32(addr+4), in.u32(addr+8)
	if _, err := in.readBytes(elems, n*8); err != nil {
		return nil, err
	}
	terms := make([]*ast.Term, n)
	for i := range n {
		v, err := in.readValue(in.u32(elems+i*8+4), depth+1)
		if err != nil {
			return nil, err
		}
		terms[i] = ast.NewTerm(v)
	}
	return ast.NewArray(terms...), nil
}

// readHashed reads {tag, buckets **elem, n, len}; an element is {key, value, next} in an object and {value, next} in a set.
func (in *Instance) readHashed(addr uint32, tag byte, depth int) (ast.Value, error) {
	buckets, n := in.u32(addr+4), in.u32(addr+8)
	if _, err := in.readBytes(buckets, n*4); err != nil {
		return nil, err
	}
	object, set := ast.NewObject(), ast.NewSet()
	for i := range n {
		for elem := in.u32(buckets + i*4); elem != 0; {
			k, err := in.readValue(in.u32(elem), depth+1)
			if err != nil {
				return nil, err
			}
			if tag == tagSet {
				set.Add(ast.NewTerm(k))
				elem = in.u32(elem + 4)
				continue
			}
			v, err := in.readValue(in.u32(elem+4), depth+1)
			if err != nil {
				return nil, err
			}
			object.Insert(ast.NewTerm(k), ast.NewTerm(v))
			elem = in.u32(elem + 8)
		}
	}
	if tag == tagSet {
		return set, nil
	}
	return object, nil
}
