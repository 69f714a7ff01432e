// Package conformance knows case files: what they hold, how a case is played, and how what came out is held against
// what the case expects.
//
// It refuses to know what is right: that is in the case files, and a case is judged by the [cardrun.Snapshot] alone, as
// anybody could judge it who has only the JSON text.
//
// The rule of use: [Load] the files, [Run] them on a runtime, and print the [Results]. To judge a snapshot that came from
// elsewhere, such as a service, call [Expect.Check].
//
//	cases, err := conformance.Load("conformance/cases")
//	…
//	results := conformance.Run(ctx, runtime, cases, conformance.Options{})
//	results.Print(os.Stdout) // the last line is N passed, N failed
package conformance
