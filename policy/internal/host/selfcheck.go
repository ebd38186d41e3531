package host

import (
	"bytes"
	"fmt"
	"strings"
)

// The version of the interface between module and host that this package was written against, as the module declares
// it.
const (
	abiVersion = 1
	abiMinor   = 3
)

// selfCheck makes sure that the module's C runtime lays values out as the encoder and the decoder believe. The module
// itself parses and prints a document that has every kind of value; both must come out as when the document passed
// through here. Since the module prints objects in the order of their tables, hashes and table sizes are compared as
// well.
func (in *Instance) selfCheck() error {
	for name, want := range map[string]uint64{"opa_wasm_abi_version": abiVersion, "opa_wasm_abi_minor_version": abiMinor} {
		global := in.mod.ExportedGlobal(name)
		if global == nil || global.Get() != want {
			return mismatch("it does not declare %s as %d", name, want)
		}
	}
	text := []byte(sample)
	ours, end, err := in.enc.encode(in.heap, text)
	if err != nil {
		return fmt.Errorf("write the sample: %w", err)
	}
	if _, err := in.call(in.setHeap, uint64(end)); err != nil {
		return fmt.Errorf("set heap: %w", err)
	}
	theirs, err := in.parsed(text)
	if err != nil {
		return err
	}
	printed := [2]string{}
	decoded := [2][]byte{}
	for i, addr := range []uint32{ours, theirs} {
		if printed[i], err = in.printed(addr); err != nil {
			return err
		}
		if decoded[i], err = in.dec.decode(in.memory(), addr, nil); err != nil {
			return fmt.Errorf("read the sample: %w", err)
		}
	}
	switch {
	case printed[0] != printed[1]:
		return mismatch("it prints a value of ours %s", difference(printed[0], printed[1]))
	case !bytes.Equal(decoded[0], decoded[1]):
		return mismatch("we print a value of its %s", difference(string(decoded[1]), string(decoded[0])))
	case string(decoded[0]) != canonical:
		return mismatch("we print the sample %s", difference(string(decoded[0]), canonical))
	}
	return in.checkSet()
}

// checkSet has the module make a set, which JSON has no text for.
func (in *Instance) checkSet() error {
	addr, err := in.parsed([]byte(`{20, 3, "b", [], "a"}`))
	if err != nil {
		return err
	}
	got, err := in.dec.decode(in.memory(), addr, nil)
	if err != nil {
		return fmt.Errorf("read a set: %w", err)
	}
	if want := `[3,20,"a","b",[]]`; string(got) != want {
		return mismatch("we print a set of its %s", difference(string(got), want))
	}
	return nil
}

// parsed has the module parse text.
func (in *Instance) parsed(text []byte) (uint32, error) {
	addr, err := in.write(text)
	if err == nil {
		addr, err = in.call(in.parse, uint64(addr), uint64(len(text)))
	}
	if err != nil {
		return 0, fmt.Errorf("have the module parse: %w", err)
	}
	if addr == 0 {
		return 0, mismatch("it does not parse %.20q", text)
	}
	return addr, nil
}

// printed has the module print a value.
func (in *Instance) printed(addr uint32) (string, error) {
	text, err := in.call(in.dump, uint64(addr))
	if err != nil {
		return "", fmt.Errorf("have the module print: %w", err)
	}
	return cString(in.mem, text), nil
}

func mismatch(format string, args ...any) error {
	return &Error{Kind: ErrLayout, Detail: fmt.Sprintf(format, args...)}
}

// difference shows where two texts part.
func difference(got, want string) string {
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	from := max(n-10, 0)
	return fmt.Sprintf("as ...%.30q where ...%.30q was expected", got[from:], want[from:])
}

// sample has every kind of value and every edge of the layout: escapes, code points of one to four bytes, integers
// about the limits of 32 and 64 bits, numbers that must stay text, tables that have grown twice, and an array with
// more elements than there are shared integers. canonical is how the decoder prints it.
var sample, canonical = sampleDocument()

func sampleDocument() (string, string) {
	var elements, names, sorted []string
	for i := range sharedIntegers + 6 {
		elements = append(elements, fmt.Sprint(i*i))
	}
	for i := range 14 {
		names = append(names, fmt.Sprintf(`"name%d":{"%d":[]}`, i, i))
	}
	for _, i := range []int{0, 1, 10, 11, 12, 13, 2, 3, 4, 5, 6, 7, 8, 9} {
		sorted = append(sorted, names[i])
	}
	many := strings.Join(elements, ",")
	const numbers = `[-1,-0,0,2147483647,2147483648,-2147483648,-2147483649,9007199254740993,18446744073709551616,` +
		`1.0,-0.5,1e3,1E-2,12.5e+7]`
	text := `{"text":["","a b","\"\\\/\b\f\n\r\t\u0001","\u00e9\u20AC\ud83d\ude00","é€😀"],"numbers":` + numbers +
		`,"null":null,"true":true,"false":false,"empty":[{},[]],"many":[` + many +
		`],"names":{` + strings.Join(names, ",") + `}}`
	printed := `{"empty":[{},[]],"false":false,"many":[` + many + `],"names":{` + strings.Join(sorted, ",") +
		`},"null":null,"numbers":` + numbers +
		`,"text":["","a b","\"\\/\u0008\u000c\n\r\t\u0001","é€😀","é€😀"],"true":true}`
	return text, printed
}
