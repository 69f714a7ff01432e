package server

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/cardrun"
)

// TestBodyMemory: slow bodies that take all the memory there is for bodies make room for one that comes at once.
func TestBodyMemory(t *testing.T) {
	b := newBodies(100<<10, time.Minute)
	read := func(in io.Reader) (*body, error) {
		r := httptest.NewRequest(http.MethodPost, "/", in)
		r.ContentLength = -1
		return b.read(httptest.NewRecorder(), r, 1<<20)
	}
	var all sync.WaitGroup
	var ends []*io.PipeWriter
	gone := make(chan *Problem, 10)
	for range 3 {
		in, out := io.Pipe()
		ends = append(ends, out)
		all.Go(func() {
			d, err := read(in)
			defer d.release()
			if err != nil {
				gone <- asProblem(err)
			}
		})
		if _, err := out.Write(make([]byte, 20<<10)); err != nil { // which takes 32 KiB
			t.Fatal(err)
		}
	}
	d, err := read(strings.NewReader(strings.Repeat("x", 50<<10)))
	if err != nil || len(d.text) != 50<<10 {
		t.Fatalf("%d bytes of a good body: %v", len(d.text), err)
	}
	if b.held > b.most {
		t.Errorf("%d bytes are held", b.held)
	}
	if _, err := read(strings.NewReader(strings.Repeat("x", 200<<10))); asProblem(err).Code != codeOverloaded {
		t.Errorf("a body larger than all memory: %v", err)
	}
	for _, end := range ends {
		_ = end.CloseWithError(io.ErrUnexpectedEOF)
	}
	all.Wait()
	close(gone)
	slow := 0
	for p := range gone {
		if p.Code == codeSlow {
			slow++
		}
	}
	if slow < 2 {
		t.Errorf("%d slow bodies were given up", slow)
	}
	d.release()
	d.release()
	if b.reading.Len() != 0 {
		t.Errorf("%d are read still", b.reading.Len())
	}
}

// TestRoomIsMadeByThoseWhoTakeIt: past the ceiling, sessions of clients that have no more than their share stay.
func TestRoomIsMadeByThoseWhoTakeIt(t *testing.T) {
	r, err := cardrun.New(t.Context(), cardrun.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, o := range map[string]storeOptions{
		"sessions": {ceiling: 1 << 40, most: 10, idle: time.Hour},
		"bytes":    {ceiling: 10 * 600 << 10, most: 1000, idle: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSessions(o)
			defer s.close()
			open := func(name string) (id string) {
				card := cardrun.Card{Title: "t", Summary: "s", HTML: "<p>x</p>"}
				live, _, err := r.Open(t.Context(), &card, cardrun.SessionOptions{FreezeAfter: -1})
				if err != nil {
					t.Fatal(err)
				}
				id, e := s.add(live, client{name: name})
				s.put(e)
				return id
			}
			first, second := open("modest"), open("modest")
			pinned, err := s.take(open("greedy"))
			if err != nil {
				t.Fatal(err)
			}
			var greedy []string
			for range 60 {
				greedy = append(greedy, open("greedy"))
			}
			for _, id := range []string{first, second, greedy[len(greedy)-1]} {
				e, err := s.take(id)
				if err != nil {
					t.Fatal(err)
				}
				s.put(e)
			}
			if pinned.ending != alive {
				t.Error("a session that was in use had to go")
			}
			s.put(pinned)
			if _, err := s.take(greedy[0]); asProblem(err).Code != codeExpired {
				t.Errorf("the greedy client's oldest: %v", err)
			}
			if len(s.byKey) > o.most || s.bytes > o.ceiling {
				t.Errorf("%d sessions of %d bytes", len(s.byKey), s.bytes)
			}
			sum := 0
			for _, e := range s.byKey {
				sum += e.size
			}
			if sum != s.bytes || s.used.Len() != len(s.byKey) || s.holders["modest"].sessions != 2 {
				t.Errorf("%d bytes are counted of %d, %d sessions of %d, %d of the modest client", s.bytes, sum, s.used.Len(), len(s.byKey), s.holders["modest"].sessions)
			}
		})
	}
}

// TestMarksAreBounded: of no more sessions is it known that they ended than there is room for.
func TestMarksAreBounded(t *testing.T) {
	s := newSessions(storeOptions{ceiling: 1, most: 1, idle: time.Hour})
	for n := range mostMarks + 1000 {
		e := &entry{key: keyOf(fmt.Sprint(n)), client: "c"}
		e.at = s.used.PushBack(e)
		s.byKey[e.key] = e
		s.holders["c"] = &holder{sessions: 1}
		s.end(e, endedIdle)
	}
	if len(s.marks) != mostMarks || len(s.ring) != mostMarks {
		t.Errorf("%d marks, %d in the ring", len(s.marks), len(s.ring))
	}
	for id, code := range map[string]string{"0": codeUnknown, "999": codeUnknown, "1000": codeExpired, fmt.Sprint(mostMarks + 999): codeExpired} {
		if _, err := s.take(id); asProblem(err).Code != code {
			t.Errorf("session %s: %v, want %s", id, err, code)
		}
	}
}
