package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// junitSuite is the form of JUnit's reports that build servers read.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes results as JUnit XML, a case for each step.
func WriteJUnit(w io.Writer, card string, results []*GoldenResult) error {
	suite := junitSuite{Name: card}
	seconds := 0.0
	for _, r := range results {
		seconds += r.Elapsed.Seconds()
		failed := map[int]GoldenFailure{}
		for _, f := range r.Failures {
			failed[f.Line] = f
		}
		for n, st := range r.Golden.steps {
			c := junitCase{Class: r.Golden.Name, Name: fmt.Sprintf("%d %s", st.line+1, st.do)}
			f, ok := failed[st.line+1]
			if n == 0 && !ok {
				f, ok = failed[1] // the card was rejected
			}
			if ok {
				c.Failure = &junitFailure{f.Why, strings.Join(f.Diff, "\n")}
				if f.Why == "" {
					c.Failure.Message = "the display differs"
				}
				suite.Failures++
			}
			suite.Tests++
			suite.Cases = append(suite.Cases, c)
		}
	}
	suite.Time = fmt.Sprintf("%.3f", seconds)
	b, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return fmt.Errorf("write junit: %w", err)
	}
	if _, err := io.WriteString(w, xml.Header+string(b)+"\n"); err != nil {
		return fmt.Errorf("write junit: %w", err)
	}
	return nil
}
