package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/cardrun"
	"example.com/cardrun/server"
)

// next takes the next event of a stream, and expects it to be as given; an empty expectation is not looked at.
func next(t testing.TB, from chan sse, event, id string) sse {
	t.Helper()
	select {
	case e, more := <-from:
		if !more {
			t.Fatalf("the stream is over; want %s %s", event, id)
		}
		if event != "" && e.event != event || id != "" && e.id != id {
			t.Fatalf("got %.200v, want %s %s", e, event, id)
		}
		return e
	case <-time.After(10 * time.Second):
		t.Fatalf("no event came; want %s %s", event, id)
		return sse{}
	}
}

// TestStreamFrom resumes with ids that there were, are not yet, and never can be.
func TestStreamFrom(t *testing.T) {
	v := listen(t, server.Options{Local: true, KeepRounds: 2})
	id := v.open(counting)
	enter := func(value string) {
		t.Helper()
		v.expect(v.call("POST", "/v1/sessions/"+id+"/events", `{"id":"i","type":"input","value":"`+value+`"}`), 200, "")
	}
	for n := range 6 {
		enter(fmt.Sprint(n + 1))
	}
	for _, c := range []struct{ last, first string }{
		{"", "1.5"},    // of what is forgotten, nothing is sent but what is kept
		{"1.1", "1.5"}, // likewise
		{"1.5", "1.6"},
		{"1.-1", "1.5"},
		{"7.3", "1.5"}, // of an activation that is not the present one: from its start
		{"1.6", "1.7"}, // what comes next, below
		{"1.99", "1.7"},
		{"1.1073741823", "1.7"}, // the largest there is
	} {
		t.Run("after "+c.last, func(t *testing.T) {
			events, cancel := v.follow(id, c.last)
			defer cancel()
			if c.first == "1.7" {
				select {
				case e := <-events:
					t.Fatalf("got %v, before there was anything", e)
				case <-time.After(50 * time.Millisecond):
				}
				live := v.open(counting) // a session of its own, where the next round is the first that is new
				own, cancelOwn := v.follow(live, strings.Replace(c.last, "1.6", "1.0", 1))
				defer cancelOwn()
				v.expect(v.call("POST", "/v1/sessions/"+live+"/events", press), 200, "")
				next(t, own, "round", "1.1")
				return
			}
			next(t, events, "round", c.first)
		})
	}
	for _, last := range []string{"1", "1.", ".1", "0.1", "1.-2", "1.1.1", "x.y", "1.1073741824", "1.9223372036854775807", "9223372036854775808.1", "١.١"} {
		v.expect(v.call("GET", "/v1/sessions/"+id+"/stream", "", "Last-Event-ID", last), 422, "parameter_invalid")
	}
}

// TestStreamHead asks for no more than the headers of a stream, which must not hold its connection.
func TestStreamHead(t *testing.T) {
	v := listen(t, server.Options{Local: true})
	at := "/v1/sessions/" + v.open(counting)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 20 { // more than may follow
		a, err := v.try(ctx, "HEAD", at+"/stream", "")
		if err != nil || a.status != 200 || a.header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%d %v: %v", a.status, a.header, err)
		}
	}
	within(t, "no stream is left", func() bool { return v.metric("cardrun_streams", "") == 0 })
}

// TestStreamKeeps shows that a session which is followed does not expire, and that it does when nobody follows any more.
func TestStreamKeeps(t *testing.T) {
	v := listen(t, server.Options{Local: true, SessionIdle: 200 * time.Millisecond})
	id := v.open(counting)
	events, cancel := v.follow(id, "")
	next(t, events, "round", "1.0")
	select {
	case e, more := <-events:
		t.Fatalf("while it is followed: %v %v", e, more)
	case <-time.After(time.Second):
	}
	cancel()
	within(t, "it expires", func() bool { return v.metric("cardrun_sessions_ended_total", "idle") == 1 })
	v.expect(v.call("GET", "/v1/sessions/"+id, ""), 410, "session_expired")
	v.expect(v.call("GET", "/v1/sessions/"+id+"/stream", ""), 410, "session_expired")
}

// TestStreamEnds is about the reasons for which a stream ends beside failure, deletion and the end of the service.
func TestStreamEnds(t *testing.T) {
	v := listen(t, server.Options{Local: true, MaxSessions: 2})
	events, cancel := v.follow(v.open(counting), "")
	defer cancel()
	next(t, events, "round", "1.0")
	for range 2 {
		v.open(counting)
	}
	if e := next(t, events, "end", ""); e.data != `{"reason":"memory"}` {
		t.Errorf("the end: %v", e)
	}
	if e, more := <-events; more {
		t.Errorf("after the end: %v", e)
	}
}

// TestStreamRefreshed follows through a refresh: the new activation comes whole, and the stream goes on.
func TestStreamRefreshed(t *testing.T) {
	v := listen(t, server.Options{Local: true})
	id := v.open(counting)
	events, cancel := v.follow(id, "")
	defer cancel()
	next(t, events, "round", "1.0")
	for n := 1; n <= 2; n++ {
		v.expect(v.call("POST", "/v1/sessions/"+id+"/events", press), 200, "")
		next(t, events, "round", fmt.Sprintf("1.%d", n))
	}
	a := v.expect(v.call("POST", "/v1/sessions/"+id+"/refresh", ""), 200, "")
	if got := a.header.Get("Last-Event-ID"); got != "2.0" {
		t.Errorf("the refresh answers Last-Event-ID %q", got)
	}
	next(t, events, "round", "2.0")
	v.expect(v.call("POST", "/v1/sessions/"+id+"/events", press), 200, "")
	next(t, events, "round", "2.1")
}

// TestStreamBeats reads the comments that keep a stream from being cut by what lies between.
func TestStreamBeats(t *testing.T) {
	v := listen(t, server.Options{Local: true, Heartbeat: 20 * time.Millisecond})
	res, err := http.Get(v.url + "/v1/sessions/" + v.open(counting) + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	beats := 0
	for lines := bufio.NewScanner(res.Body); beats < 3 && lines.Scan(); {
		if lines.Text() == ": alive" {
			beats++
		}
	}
	if beats < 3 {
		t.Errorf("%d beats came", beats)
	}
}

// large is a card of which each press gives a round of some 14 KB.
var large = cardOf(`let n = 0; ui.on('b', 'click', () => { for (let i = 0; i < 7; i++) ui.text('p', String(++n).padEnd(2000, 'x')) })`)

// TestStreamSlow lets a client read nothing: it loses its stream, and nobody else waits for it.
func TestStreamSlow(t *testing.T) {
	v := listen(t, server.Options{Local: true, KeepRounds: -1})
	id := v.open(large)
	c, err := net.Dial("tcp", v.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "GET /v1/sessions/%s/stream HTTP/1.1\r\nHost: localhost\r\n\r\n", id); err != nil {
		t.Fatal(err)
	}
	within(t, "it follows", func() bool { return v.metric("cardrun_streams", "") == 1 })
	good, cancel := v.follow(id, "")
	defer cancel()
	next(t, good, "round", "1.0")
	sent, slowest := 0, time.Duration(0)
	for n := 1; n <= 600; n++ { // more than the system keeps for a connection
		began := time.Now()
		a := v.expect(v.call("POST", "/v1/sessions/"+id+"/events", press), 200, "")
		slowest = max(slowest, time.Since(began))
		sent += len(a.body)
		if e := next(t, good, "round", fmt.Sprintf("1.%d", n)); !json.Valid([]byte(e.data)) {
			t.Fatalf("round %d is no JSON", n)
		}
	}
	for end := time.Now().Add(20 * time.Second); v.metric("cardrun_streams", "") != 1; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("a client that read nothing of %d bytes is still served", sent)
		}
	}
	t.Logf("%d bytes; the slowest event took %v", sent, slowest)
	if slowest > 2*time.Second {
		t.Errorf("an event waited for the slow client: %v", slowest)
	}
	cancel()
	http.DefaultClient.CloseIdleConnections()
	// What the system has taken for it may be under way long after: the service's own count tells that it is closed.
	within(t, "the connection that asks is the only one", func() bool { return v.metric("cardrun_connections", "") == 1 })
	var s cardrun.Snapshot
	if err := json.Unmarshal(v.expect(v.call("GET", "/v1/sessions/"+id, ""), 200, "").body, &s); err != nil || s.Outcome != cardrun.Ready {
		t.Errorf("the session: %v %v", s.Outcome, err)
	}
}
