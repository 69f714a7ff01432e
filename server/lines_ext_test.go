package server_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"example.com/cardrun/server"
)

// TestRefusalsInTheLog: every refusal is in the log, by a line of its own or in the count of a later one.
func TestRefusalsInTheLog(t *testing.T) {
	v := listen(t, server.Options{Local: true, Rate: 0.001})
	refused := 0
	call := func() {
		if v.call("GET", "/v1/sessions/x", "").status == 429 {
			refused++
		}
	}
	for range 250 {
		call()
	}
	time.Sleep(1100 * time.Millisecond) // the next second, which tells of the one before
	call()
	lines, counted := 0, 0
	within(t, "the last refusal is logged", func() bool {
		lines, counted = 0, 0
		for line := range strings.Lines(v.log.String()) {
			var l struct {
				Status int `json:"status"`
				Left   int `json:"refusals_not_logged"`
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if l.Status == 429 {
				lines++
				counted += l.Left
			}
		}
		return lines+counted == refused
	})
	if refused < 249 || counted == 0 {
		t.Errorf("%d refusals, %d lines, which count %d more", refused, lines, counted)
	}
}
