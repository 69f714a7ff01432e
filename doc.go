// Package cardrun knows cards: small interactive calculators that a language model wrote as {title, summary, html, css,
// javascript}. It decodes and checks them, runs their scripts in a sandbox, and keeps a card alive as a session that
// takes a user's events.
//
// It refuses to know where a card comes from and where it is shown: no HTTP, no flags, no files, no browser. It trusts
// nothing in a card, and says nothing about whether a card's figures are right.
//
// The rule of use: one [Runtime] for a process, from [New], closed at the end. [Decode] takes any bytes. A card that is
// shown once goes through [Runtime.Render]; one that a user works with goes through [Runtime.Open], which gives a [Session].
// [Card.Check] and [Runtime.Check] only look. Whatever the card did wrong is in the [Snapshot], as diagnostics where it was
// rejected and as a failure where it was ended; an error is never the card's doing, but a context that is over, a
// Runtime or Session that was closed, or a sandbox that cannot work.
//
//	r, err := cardrun.New(ctx, cardrun.Options{})
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//	card := cardrun.Decode(data)
//	s, err := r.Render(ctx, &card, cardrun.RenderOptions{})
//	if err != nil {
//		return err
//	}
//	fmt.Println(s.Outcome) // ready, failed or rejected
//
// Rules are cited by number: R9 is a rule of the card specification, D21 a decision where it leaves something open.
package cardrun
