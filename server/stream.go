package server

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"example.com/cardrun"
)

const (
	mostStreams = 16 // that follow one session
	// writeTime is how long a client may take to read what one write sends. Nothing is kept for a slow one: rounds are read
	// from the session when there is room for them.
	writeTime = 5 * time.Second
)

// streamInput says from where to follow a session.
type streamInput struct {
	Session     string `path:"session" maxLength:"64" doc:"The id that opening it gave."`
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event that was received; without it, from the first round."`
}

func (s *Server) followSession(_ context.Context, in *streamInput) (*huma.StreamResponse, error) {
	activation, round := 0, -1
	if in.LastEventID != "" {
		a, r, _ := strings.Cut(in.LastEventID, ".")
		const bits = 31 // so that one more is no negative number
		number, errA := strconv.ParseInt(a, 10, bits)
		last, errR := strconv.ParseInt(r, 10, bits)
		activation, round = int(number), int(last)
		if errA != nil || errR != nil || activation < 1 || round < -1 {
			return nil, problem(http.StatusUnprocessableEntity, codeParameter, "Last-Event-ID is none of this stream; give ACTIVATION.ROUND, or leave it out")
		}
	}
	e, err := s.sessions.take(in.Session)
	if err != nil {
		return nil, err
	}
	if !s.sessions.follow(e) {
		s.sessions.put(e)
		p := problem(http.StatusServiceUnavailable, codeStreams, "too many streams follow this session; close one")
		p.retry = time.Second
		return nil, p
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		s.sessions.put(e) // a stream alone keeps a session from expiring, not from making room
		s.metrics.streams.Inc()
		defer s.metrics.streams.Dec()
		defer s.sessions.seen(e, true)
		s.stream(r.Context(), w, e, activation, round+1, r.Method == http.MethodHead)
	}}, nil
}

// stream sends what happens in a session from a round on, until its activation fails, the session ends, the service ends,
// or the client does not read. With head there are headers alone: what is written after them goes nowhere, so that such a
// client would never be found to read nothing.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, e *entry, activation, from int, head bool) {
	p := e.live.Follow(activation, from) // so that whoever sees the headers hears of all that comes then
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // for proxies that would collect events
	w.WriteHeader(http.StatusOK)
	if head {
		return
	}
	out := http.NewResponseController(w)
	send := func(b []byte) bool {
		if len(b) == 0 {
			return true
		}
		if err := out.SetWriteDeadline(time.Now().Add(writeTime)); err != nil && !strings.Contains(err.Error(), "not supported") {
			return false
		}
		if _, err := w.Write(b); err != nil {
			return false
		}
		return out.Flush() == nil
	}
	if !send([]byte("retry: 1000\n\n")) {
		return
	}
	beat := time.NewTicker(s.o.Heartbeat)
	defer beat.Stop()
	for ; ; p = e.live.Follow(activation, from) {
		activation = p.Activation
		for n := range p.Rounds {
			b, err := frame("round", cardrun.Place{Activation: activation, Round: p.First + n}.String(), &p.Rounds[n])
			if err != nil || !send(b) {
				return
			}
		}
		from = p.First + len(p.Rounds) // also where the client named a round that is yet to come
		switch {
		case p.Closed:
			send(endFrame(s.sessions.why(e).String()))
			return
		case p.Failure != nil:
			if b, err := frame("failure", "", p.Failure); err == nil {
				send(append(b, endFrame("failure")...))
			}
			return
		}
		select {
		case <-p.News:
		case <-beat.C:
			s.sessions.seen(e, false)
			if !send([]byte(": alive\n\n")) {
				return
			}
		case <-s.ending:
			send(endFrame(endedByService.String()))
			return
		case <-ctx.Done():
			return
		}
	}
}

// streamEnd is the data of the event end.
type streamEnd struct {
	// Reason is failure, closed, idle, memory or shutdown.
	Reason string `json:"reason" enum:"failure,closed,idle,memory,shutdown"`
}

func endFrame(reason string) []byte {
	b, _ := frame("end", "", streamEnd{reason}) // which always can be written
	return b
}

// frame is one event of a stream. JSON text has no line ends.
func frame(event, id string, data any) ([]byte, error) {
	text, err := marshal(data)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("event: " + event + "\n")
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("data: ")
	b.Write(text)
	b.WriteString("\n\n")
	return b.Bytes(), nil
}
