package host

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// maxVerbs bounds the verbs of a format.
const maxVerbs = 1000

var (
	errWide = errors.New("the format has a width or precision of more than three digits, a * or an index, " +
		"with which a short text could make any amount of output")
	errVerbs = fmt.Errorf("the format has more than %d verbs", maxVerbs)
)

// wide matches the verbs that are refused.
var wide = regexp.MustCompile(`%[-+# 0-9.]*(?:[0-9]{4}|[*\[])`)

// boundedSprintf keeps what sprintf makes in proportion to its arguments: Go would allocate whatever the format says.
func boundedSprintf(sprintf topdown.BuiltinFunc) topdown.BuiltinFunc {
	return func(bctx topdown.BuiltinContext, operands []*ast.Term, iter func(*ast.Term) error) error {
		if format, ok := operands[0].Value.(ast.String); ok {
			verbs := strings.ReplaceAll(string(format), "%%", "")
			if strings.Count(verbs, "%") > maxVerbs {
				return errVerbs
			}
			if wide.MatchString(verbs) {
				return errWide
			}
		}
		return sprintf(bctx, operands, iter)
	}
}
