package output

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tiergate/tiergate/policy"
)

// TestReport is what a run of policy tests found.
type TestReport struct {
	Tests []policy.TestResult `json:"tests"`
	// Coverage is nil where nobody asked for it. Below Threshold, in percent, the run has not passed.
	Coverage  *policy.Coverage `json:"coverage,omitempty"`
	Threshold float64          `json:"threshold,omitempty"`
}

// Passed tells whether no test failed and enough was covered.
func (r *TestReport) Passed() bool {
	counts := r.counts()
	return counts[policy.TestFail]+counts[policy.TestError] == 0 && !r.uncovered()
}

func (r *TestReport) uncovered() bool { return r.Coverage != nil && r.Coverage.Percent < r.Threshold }

func (r *TestReport) counts() map[string]int {
	counts := map[string]int{}
	for _, t := range r.Tests {
		counts[t.Outcome]++
	}
	return counts
}

// Write writes the report in one of the formats of --output; verbose shows tests that pass in text, too.
func (r *TestReport) Write(w io.Writer, format string, verbose bool) error {
	switch format {
	case JUnit:
		return writeSuites(w, r.suites())
	case Text:
		return r.writeText(w, verbose)
	default:
		return WriteDocuments(w, format, []any{r})
	}
}

func (r *TestReport) writeText(w io.Writer, verbose bool) error {
	differ := 0
	for _, t := range r.Tests {
		word := t.Outcome
		if t.Differs {
			differ++
			word = "differs"
		}
		if t.Outcome == policy.TestPass && !verbose {
			continue
		}
		fmt.Fprintf(w, "%-7s %s (%s) %s:%d\n", strings.ToUpper(word), t.Name, t.Duration.Round(time.Microsecond), t.File, t.Row)
		if t.Detail != "" {
			fmt.Fprintf(w, "        %s\n", strings.ReplaceAll(t.Detail, "\n", "\n        "))
		}
	}
	counts := r.counts()
	fmt.Fprintf(w, "%d of %d tests pass", counts[policy.TestPass], len(r.Tests))
	for _, outcome := range []string{policy.TestFail, policy.TestError, policy.TestSkip} {
		if n := counts[outcome]; n > 0 {
			fmt.Fprintf(w, ", %d %s", n, outcome)
		}
	}
	agreement := "; WebAssembly and interpreter agree"
	if differ > 0 {
		agreement = fmt.Sprintf("; in %d of them WebAssembly and interpreter differ", differ)
	}
	_, err := fmt.Fprintln(w, agreement)
	if r.Coverage != nil {
		err = r.writeCoverage(w)
	}
	return err
}

func (r *TestReport) writeCoverage(w io.Writer) error {
	c := r.Coverage
	_, err := fmt.Fprintf(w, "coverage %.1f%%, %d of %d lines\n", c.Percent, c.Covered, c.Lines)
	if r.uncovered() {
		_, err = fmt.Fprintf(w, "  below the threshold of %g%%\n", r.Threshold)
	}
	for _, file := range c.Files {
		if len(file.NotReached) > 0 {
			fmt.Fprintf(w, "  %s  %.1f%%\n", file.File, file.Percent)
		}
		for _, gap := range file.NotReached {
			_, err = fmt.Fprintf(w, "    not reached: %s:%s  %s\n", file.File, gap.Lines(), gap.Rule)
		}
	}
	return err
}

// suites are one for each file of tests, and one for the coverage if a threshold is set, so that a pipeline which reads
// nothing but JUnit stops where the exit status would stop it.
func (r *TestReport) suites() (list []junitSuite) {
	for _, t := range r.Tests {
		if len(list) == 0 || list[len(list)-1].Name != t.File {
			list = append(list, junitSuite{Name: t.File})
		}
		list[len(list)-1].add(testCase(t))
	}
	if r.Coverage == nil || r.Threshold == 0 {
		return list
	}
	c, suite := junitCase{Name: "threshold", ClassName: "coverage"}, junitSuite{Name: "coverage"}
	var text strings.Builder
	_ = r.writeCoverage(&text) // a builder takes everything
	if r.uncovered() {
		c.Failure = &junitReason{
			Type: "coverage", Text: text.String(),
			Message: fmt.Sprintf("coverage is %.1f%%, below the threshold of %g%%", r.Coverage.Percent, r.Threshold),
		}
	} else {
		c.Output = text.String()
	}
	suite.add(c)
	return append(list, suite)
}

func testCase(t policy.TestResult) junitCase {
	class, name := t.Name, t.Name
	if at := strings.LastIndex(t.Name, "."); at >= 0 {
		class, name = t.Name[:at], t.Name[at+1:]
	}
	c := junitCase{Name: name, ClassName: class, Time: fmt.Sprintf("%.6f", t.Duration.Seconds())}
	message, _, _ := strings.Cut(t.Detail, "\n")
	reason := &junitReason{Type: t.Outcome, Message: message, Text: fmt.Sprintf("%s:%d\n%s", t.File, t.Row, t.Detail)}
	switch t.Outcome {
	case policy.TestFail:
		c.Failure = reason
	case policy.TestError:
		c.Error = reason
	case policy.TestSkip:
		c.Skipped = &junitReason{Message: "todo"}
	}
	return c
}
