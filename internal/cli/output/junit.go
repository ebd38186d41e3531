package output

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	v1 "github.com/tiergate/tiergate/api/v1"
)

// junitFormat writes a test suite for each input and a test case for each check. A denying check that fails or is unknown
// is a failure, so that a pipeline which reads nothing but JUnit stops where the exit status would stop it.
type junitFormat struct{}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string       `xml:"name,attr"`
	ClassName string       `xml:"classname,attr"`
	Time      string       `xml:"time,attr,omitempty"`
	Failure   *junitReason `xml:"failure,omitempty"`
	Error     *junitReason `xml:"error,omitempty"`
	Skipped   *junitReason `xml:"skipped,omitempty"`
	Output    string       `xml:"system-out,omitempty"`
}

type junitReason struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr,omitempty"`
	Text    string `xml:",chardata"`
}

func (junitFormat) Write(w io.Writer, results []Result) error {
	var suites []junitSuite
	for _, r := range results {
		suites = append(suites, suiteOf(r))
	}
	return writeSuites(w, suites)
}

func writeSuites(w io.Writer, suites []junitSuite) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write junit: %w", err)
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(junitSuites{Suites: suites}); err != nil {
		return fmt.Errorf("write junit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func suiteOf(r Result) junitSuite {
	s := junitSuite{Name: r.Source}
	if r.Failure != nil {
		s.Tests, s.Errors = 1, 1
		reason := &junitReason{Type: r.Failure.Code, Message: r.Failure.String()}
		s.Cases = []junitCase{{Name: "input", ClassName: r.Source, Error: reason}}
		return s
	}
	for _, check := range r.Verdict.Checks {
		c := caseOf(check)
		c.ClassName = r.Source
		s.add(c)
	}
	return s
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func caseOf(check v1.CheckResult) junitCase {
	c := junitCase{Name: check.ID}
	var lines []string
	for _, v := range check.Violations {
		lines = append(lines, v.Message)
		if v.Fix != "" {
			lines = append(lines, "fix: "+v.Fix)
		}
	}
	for _, fact := range check.Missing {
		lines = append(lines, "missing: "+fact)
	}
	text := strings.Join(lines, "\n")
	denies := check.Enforcement == v1.EnforceDeny
	switch {
	case check.Outcome == v1.NotApplicable:
		c.Skipped = &junitReason{Message: strings.Join(append([]string{"not applicable"}, lines...), "; ")}
	case denies && (check.Outcome == v1.Fail || check.Outcome == v1.Unknown):
		c.Failure = &junitReason{Type: check.Outcome, Text: text}
		if len(lines) > 0 {
			c.Failure.Message = lines[0]
		}
	case check.Outcome != v1.Pass:
		c.Output = check.Outcome + " (" + check.Enforcement + ")\n" + text
	}
	return c
}
