package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// errHelped is the end of a command line that asked for help and got it.
var errHelped = errors.New("help was shown")

// parse is kong's Parse for this grammar, without its hooks and its call of Run. Those look methods up by names that the
// linker cannot foresee, and a program that does so anywhere keeps every exported method of every type: it would be twice
// as large. For the same reason nothing here may use text/template; the image's test holds the size. The context is valid
// with an error, too, and knows the command as far as it was recognised.
func parse(parser *kong.Kong, args []string) (*kong.Context, error) {
	parsed, err := kong.Trace(parser, args)
	if err == nil {
		err = parsed.Error
	}
	if err != nil {
		return parsed, err
	}
	if slices.ContainsFunc(parsed.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag == parser.Model.HelpFlag }) {
		return parsed, errors.Join(errHelped, parsed.PrintUsage(false))
	}
	if err := parsed.Reset(); err != nil {
		return parsed, err
	}
	if _, err := parsed.Apply(); err != nil {
		return parsed, err
	}
	return parsed, checkParsed(parsed)
}

// checkParsed finds what is missing, what is too much, and what has a value that it must not have.
func checkParsed(parsed *kong.Context) error {
	node := parsed.Selected()
	if node == nil {
		node = parsed.Model.Node
	}
	for at := node; at != nil; at = at.Parent {
		if err := checkValues(at.Values()); err != nil {
			return err
		}
		if err := checkFlags(at.Flags); err != nil {
			return err
		}
	}
	var expected []string
	for _, argument := range node.Positional {
		if argument.Required && !argument.Set {
			expected = append(expected, strconv.Quote(argument.Summary()))
		}
	}
	for _, child := range node.Children {
		if !child.Hidden {
			expected = append(expected, strconv.Quote(child.Name))
		}
	}
	switch len(expected) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("expected %s", expected[0])
	}
	return fmt.Errorf("expected one of %s", strings.Join(expected, ", "))
}

// checkValues refuses values outside their enumerations. All that have one have a default, too.
func checkValues(values []*kong.Value) error {
	for _, value := range values {
		given := fmt.Sprint(value.Target)
		if value.Enum == "" || slices.Contains(value.EnumSlice(), given) {
			continue
		}
		var allowed []string
		for _, one := range value.EnumSlice() {
			allowed = append(allowed, strconv.Quote(one))
		}
		return fmt.Errorf("%s must be one of %s but got %q", value.ShortSummary(), strings.Join(allowed, ","), given)
	}
	return nil
}

func checkFlags(flags []*kong.Flag) error {
	var missing []string
	chosen := map[string]string{} // of each group of flags that exclude one another
	for _, flag := range flags {
		if flag.Required && !flag.Set {
			missing = append(missing, flag.Summary())
		}
		for _, group := range flag.Xor {
			if other := chosen[group]; other != "" && flag.Set {
				return fmt.Errorf("--%s and --%s can't be used together", other, flag.Name)
			}
			if flag.Set {
				chosen[group] = flag.Name
			}
		}
	}
	if missing != nil {
		slices.Sort(missing)
		return fmt.Errorf("missing flags: %s", strings.Join(missing, ", "))
	}
	return nil
}
