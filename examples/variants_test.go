package examples_test

import (
	"strings"
	"testing"

	"example.com/cardrun"
)

// TestVariants runs the cards with other initial values, at the edges of what they take: each row replaces parts of the
// html, the first of a pair by the second, and says what elements then hold. The figures were computed apart from this
// project.
func TestVariants(t *testing.T) {
	files := cards(t)
	r := runtime(t)
	for _, c := range []struct {
		card, why string
		replace   []string
		text      map[string]string
	}{
		{"loan", "no interest", []string{`value="6"`, `value="0"`, `max="30" value="5"`, `max="30" value="30"`}, map[string]string{
			"payment": "$55.56", "total": "$20,000.00", "interest": "$0.00", "term": "30 years"}},
		{"loan", "an empty input counts as the first value", []string{`value="20000"`, `value=""`, `value="6"`, `value="6%"`}, map[string]string{
			"payment": "$386.66"}},
		{"loan", "a value out of bounds counts as the bound", []string{`value="20000"`, `value="-5"`, `value="6"`, `value="0"`, `max="30" value="5"`, `max="30" value="1"`}, map[string]string{
			"payment": "$83.33", "total": "$1,000.00", "term": "1 year"}},
		{"tip", "whole dollars", []string{`type="checkbox"`, `type="checkbox" checked`}, map[string]string{
			"share": "$19.00", "note": "Together the shares are $0.36 more than the total, because each is rounded up."}},
		{"tip", "shares that do not come out even", []string{`48.00`, `49.99`, `value="18"`, `value="17"`, `value="3"`, `value="7"`}, map[string]string{
			"tip": "$8.50", "total": "$58.49", "share": "$8.36", "note": "Together the shares are $0.03 more than the total, because each is rounded up."}},
		{"units", "below zero", []string{`value="10"`, `value="-40"`}, map[string]string{"answer": "-40 kilometre = -24.8548 mile"}},
		{"units", "the other way", []string{`value="10"`, `value="5280"`, `selected>kilometre`, `>kilometre`,
			`<option value="foot">foot</option></select>` + "\n" + `<label for="to">`, `<option value="foot" selected>foot</option></select>` + "\n" + `<label for="to">`}, map[string]string{
			"answer": "5280 foot = 1 mile"}},
		{"plans", "much data", []string{`value="8"`, `value="40"`}, map[string]string{
			"basic-total": "$164.00", "plus-total": "$82.00", "max-total": "$35.00", "best": "Cheapest at 40 GB: Max at $35.00"}},
		{"plans", "no data", []string{`value="8"`, `value="0"`}, map[string]string{"best": "Cheapest at 0 GB: Basic at $12.00"}},
		{"quiz", "one right, one wrong", []string{`value="minutes"`, `value="minutes" checked`, `value="green"`, `value="green" checked`}, map[string]string{
			"score": "Answered 2 of 3, 1 right.", "sun-note": "Right. 150 million km at 300,000 km/s are about 500 seconds.",
			"wave-note": "Not quite. Red is near 700 nm, violet near 400 nm.", "fast-note": ""}},
		{"bars", "nothing sold", []string{`value="120"`, `value="0"`, `value="180"`, `value="0"`, `value="150"`, `value="0"`, `value="210"`, `value="0"`}, map[string]string{
			"totals": "0 units in the year, 0 per quarter on average; best: Q1"}},
		{"growth", "no growth", []string{`step="0.5" value="5"`, `step="0.5" value="0"`}, map[string]string{
			"balance": "$25,000.00", "gain": "$0.00"}},
		{"planets", "a filter, in any case", []string{`type="text"`, `type="text" value="UR"`}, map[string]string{"count": "3 planets"}},
		{"planets", "sorted down by name", []string{` selected`, ``, `value="name"`, `value="name" selected`, `type="checkbox"`, `type="checkbox" checked`, `type="text"`, `type="text" value="ars"`}, map[string]string{
			"count": "1 planet", "table": "PlanetRadius (km)Year (days)Gravity (m/s²)Mars3,3906873.7"}},
		{"signup", "complete, with markup in a name", []string{`maxlength="60"`, `maxlength="60" value=" Ada &lt;b&gt; "`, `maxlength="80"`, `maxlength="80" value="ada@example.com"`,
			`type="checkbox"`, `type="checkbox" checked`, `maxlength="200">`, `maxlength="200">Hello</textarea>`, "Hello</textarea></textarea>", "Hello</textarea>"}, map[string]string{
			"state": "Complete: 1 × workshop for Ada <b>.", "problems": "", "left": "195"}},
		{"signup", "half a seat", []string{`step="1" value="1"`, `step="1" value="1.5"`}, map[string]string{"state": "Still to do: 4"}},
		{"pace", "hours", []string{`value="10"`, `value="42.2"`, `value="50"`, `value="210"`}, map[string]string{
			"pace": "4:59", "mile": "8:01", "speed": "12.06", "five": "24:53", "half": "1:44:59", "full": "3:29:59"}},
		{"budget", "too much", []string{`value="20"`, `value="60"`}, map[string]string{
			"food-sum": "60%: $1,800.00 a month", "left": "Over by 20%: $600.00 more than you have"}},
		{"dice", "whole numbers past what a double holds", []string{`value="4"`, `value="40"`, `value="14"`, `value="150"`}, map[string]string{
			"percent": "19.0179%", "ways": "2,542,214,519,504,420,361,637,664,124,398", "all": "13,367,494,538,843,734,067,838,845,976,576",
			"fraction": "1,271,107,259,752,210,180,818,832,062,199 / 6,683,747,269,421,867,033,919,422,988,288"}},
		{"dice", "impossible", []string{`value="14"`, `value="25"`}, map[string]string{"percent": "0.0000%", "ways": "0", "fraction": "impossible"}},
		{"dice", "certain", []string{`value="14"`, `value="4"`}, map[string]string{"percent": "100.0000%", "ways": "1,296", "fraction": "certain"}},
		{"breakeven", "each unit loses", []string{`value="13"`, `value="30"`}, map[string]string{
			"answer": "No number of units covers the fixed costs.", "margin": "Each unit loses $5.00", "profit": "At 1,400 units: loss $19,000.00"}},
		{"dates", "over the end of a leap year's February", []string{`2026-01-15`, `2024-02-28`, `2026-12-24`, `2024-03-02`}, map[string]string{
			"days": "3 days, from a Wednesday to a Saturday", "weeks": "0 weeks and 3 days", "weekdays": "3 weekdays, Monday to Friday"}},
		{"dates", "backwards", []string{`2026-01-15`, `2026-12-25`}, map[string]string{
			"days": "1 day, from a Friday to a Thursday", "weeks": "0 weeks and 1 day", "weekdays": "1 weekday, Monday to Friday"}},
		{"dates", "a day that is not", []string{`2026-01-15`, `2026-02-30`}, map[string]string{
			"days": "The first date is not a date such as 2026-01-15.", "weeks": ""}},
		{"checklist", "all done", []string{`type="checkbox" checked`, `type="checkbox"`, `type="checkbox"`, `type="checkbox" checked`}, map[string]string{
			"state": "6 of 6 done (100%)", "next": "All packed. Have a good trip!"}},
	} {
		t.Run(c.card+", "+c.why, func(t *testing.T) {
			card := cardrun.Decode(files[c.card])
			for i := 0; i < len(c.replace); i += 2 {
				if !strings.Contains(card.HTML, c.replace[i]) {
					t.Fatalf("the html does not hold %q", c.replace[i])
				}
				card.HTML = strings.ReplaceAll(card.HTML, c.replace[i], c.replace[i+1])
			}
			s, err := r.Render(t.Context(), &card, cardrun.RenderOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if s.Outcome != cardrun.Ready {
				t.Fatalf("outcome %s, failure %+v, diagnostics %v", s.Outcome, s.Failure, s.Diagnostics)
			}
			texts, _ := parse(t, s.Display.HTML)
			for id, want := range c.text {
				if got, ok := texts[id]; !ok || got != want {
					t.Errorf("#%s is %q (there: %t), want %q", id, got, ok, want)
				}
			}
		})
	}
}
