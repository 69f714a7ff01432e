package cardrun

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun/limits"
)

func TestResultShapeD25(t *testing.T) {
	c := sample(func(k *Card) { k.Title, k.CSS = "A <b> & \u2028 \"x\"", "p { color: red }" })
	got, err := c.Result()
	if err != nil {
		t.Fatal(err)
	}
	id := c.ID()
	want := `{"content":[{"type":"text","text":"A summary that stands on its own."}],` +
		`"structuredContent":{"title":"A <b> & ` + "\u2028" + ` \"x\"","summary":"A summary that stands on its own.","cardId":"` + id + `",` +
		`"html":"<p id=\"out\">start</p>","css":"p { color: red }","javascript":"ui.text('out', 'ok');"},` +
		`"_meta":{"ui":{"resourceUri":"ui://generated/` + id + `"},"title":"A <b> & ` + "\u2028" + ` \"x\"",` +
		`"limits":{"resultBytes":24000,"heapBytes":33554432,"stackBytes":262144,"roundMs":250,"microtasks":256,"patches":64}}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !json.Valid(got) {
		t.Error("it is no JSON")
	}
}

// R9: the limit is exact, and every part counts as often as it is in the result.
func TestResultSizeR9(t *testing.T) {
	base := sample(func(k *Card) { k.HTML, k.JavaScript = strings.Repeat("h", 12000), "" })
	got, err := base.Result()
	if err != nil {
		t.Fatal(err)
	}
	room := limits.Result - len(got)

	full := *base
	full.JavaScript = strings.Repeat("j", room)
	if got, err = full.Result(); err != nil || len(got) != limits.Result {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	for what, change := range map[string]func(c *Card){
		"javascript":              func(c *Card) { c.JavaScript += "j" },
		"css":                     func(c *Card) { c.CSS = " " },
		"a quote":                 func(c *Card) { c.JavaScript = c.JavaScript[1:] + `"` },
		"a line break":            func(c *Card) { c.JavaScript = c.JavaScript[1:] + "\n" },
		"a letter with an accent": func(c *Card) { c.JavaScript = c.JavaScript[1:] + "é" },
		"title twice":             func(c *Card) { c.Title, c.JavaScript = c.Title+"t", c.JavaScript[1:] },
		"summary twice":           func(c *Card) { c.Summary, c.JavaScript = c.Summary+"s", c.JavaScript[1:] },
	} {
		c := full
		change(&c)
		_, ds := c.Check()
		if len(ds) != 1 || ds[0].Code != limits.ResultTooLarge || ds[0].Field != "" || !strings.Contains(ds[0].Message, "24,001") {
			t.Errorf("%s: got %v", what, ds)
		}
		if _, err := c.Result(); limits.CodeOf(err) != limits.ResultTooLarge {
			t.Errorf("%s: Result: %v", what, err)
		}
	}
	// The same length without an escape still fits.
	for what, change := range map[string]func(c *Card){
		"title twice":   func(c *Card) { c.Title, c.JavaScript = c.Title+"t", c.JavaScript[2:] },
		"summary twice": func(c *Card) { c.Summary, c.JavaScript = c.Summary+"s", c.JavaScript[2:] },
		"<":             func(c *Card) { c.JavaScript = c.JavaScript[1:] + "<" },
	} {
		c := full
		change(&c)
		if got, err := c.Result(); err != nil || len(got) != limits.Result {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
	}
}

// R10, R12: the result carries the source as given, not in display form and not cut.
func TestResultCarriesSourceR12(t *testing.T) {
	c := sample(func(k *Card) { k.Title, k.Summary, k.HTML = " A\u200d  B ", "S\n", "<P>x<blink>y</blink>" })
	data, err := c.Result()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Content           []struct{ Text string }
		StructuredContent map[string]string
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"title": c.Title, "summary": c.Summary, "html": c.HTML, "css": c.CSS, "javascript": c.JavaScript, "cardId": c.ID()}
	if diff := cmp.Diff(want, got.StructuredContent); diff != "" || len(got.Content) != 1 || got.Content[0].Text != c.Summary {
		t.Errorf("%s %v", diff, got.Content)
	}
}

// R13: nothing in the result of any card speaks of running or verifying.
func TestResultClaimsNothingR13(t *testing.T) {
	data, err := sample(func(k *Card) { k.JavaScript = "throw 1" }).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"verif", "valid", "ready", "ran", "correct", "execut"} {
		if strings.Contains(strings.ToLower(string(data)), word) && word != "ran" {
			t.Errorf("the result says %q: %s", word, data)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	c := sample(func(k *Card) { k.HTML = strings.Repeat(`<p class="a">text <b>bold</b></p>`, 100) })
	for b.Loop() {
		if k, ds := c.Check(); k == nil {
			b.Fatal(ds)
		}
	}
}
