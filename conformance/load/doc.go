// Package load knows how to put a service that speaks the HTTP of cardrun under load: requests that are due at a rate whether or
// not earlier ones have been answered, cases played as renders and as sessions, latencies, and whether every answer is what its
// case expects.
//
// It refuses to know how the service works: it sees status, headers and JSON, as any client does.
//
// The rule of use: read cases with package conformance, [Run] them, and look at the [Report]. A latency counts from when a
// request was due, not from when it was sent, so that a service that stands still cannot hide the requests that it kept
// waiting; see [Kind] for what is due when.
//
//	cases, err := conformance.Load("conformance/cases")
//	if err != nil {
//		return err
//	}
//	report, err := load.Run(ctx, cases, load.Options{URL: "http://127.0.0.1:8787", Plan: []load.Phase{{Rate: 100, Duration: time.Minute}}})
//	if err != nil {
//		return err
//	}
//	return report.Print(os.Stdout)
package load
