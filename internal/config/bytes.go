package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Bytes is a size, written as a number of bytes or with one of the units KiB, MiB and GiB, e.g. 8MiB.
type Bytes int64

var units = []struct {
	name string
	size Bytes
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// UnmarshalText reads a size.
func (b *Bytes) UnmarshalText(text []byte) error {
	number, size := string(text), Bytes(1)
	for _, unit := range units {
		if rest, found := strings.CutSuffix(number, unit.name); found {
			number, size = rest, unit.size
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > int64(1<<62/size) || n < -int64(1<<62/size) {
		return fmt.Errorf("%q is no size; write bytes or a unit of KiB, MiB or GiB, e.g. 8MiB", text)
	}
	*b = Bytes(n) * size
	return nil
}

// String gives the largest unit that divides the size.
func (b Bytes) String() string {
	for _, unit := range units {
		if b != 0 && b%unit.size == 0 {
			return strconv.FormatInt(int64(b/unit.size), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}
