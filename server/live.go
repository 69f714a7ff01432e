package server

import (
	"context"
	"errors"
	"net/http"

	"example.com/cardrun"
)

// opened is the answer of openSession.
type opened struct {
	Session  string            `json:"session" minLength:"22" maxLength:"64" doc:"The id: a secret, and all that opens the session."`
	Snapshot *cardrun.Snapshot `json:"snapshot"`
}

func (s *Server) openSession(ctx context.Context, in *cardInput) (*reply, error) {
	o, err := in.options(ctx)
	if err != nil {
		return nil, err
	}
	client := requestOf(ctx).client
	if p := s.sessions.room(client); p != nil {
		return nil, p
	}
	return work(ctx, s, func(ctx context.Context, rt *cardrun.Runtime) (*reply, error) {
		card := cardrun.Decode(in.RawBody)
		live, snapshot, err := rt.Open(ctx, &card, cardrun.SessionOptions{
			RenderOptions: o, KeepRounds: max(s.o.KeepRounds, 0), FreezeAfter: s.o.FreezeAfter,
		})
		if err != nil {
			return nil, err
		}
		s.metrics.round(snapshot.Rounds, 0, snapshot.Failure)
		if live == nil {
			p := problem(http.StatusUnprocessableEntity, codeRejected, "the card was rejected; the snapshot's diagnostics say why, and what to do instead")
			p.Snapshot = snapshot
			return nil, p
		}
		id, e := s.sessions.add(live, client)
		defer s.sessions.put(e)
		out, err := replyWith(http.StatusCreated, opened{id, snapshot})
		if err == nil {
			out.LastEventID = cardrun.Place{Activation: 1, Round: len(snapshot.Rounds) - 1}.String()
		}
		return out, err
	})
}

// sessionInput names a session.
type sessionInput struct {
	Session string `path:"session" maxLength:"64" doc:"The id that opening it gave."`
}

// shown answers with what a session shows, and from where to follow it.
func shown(live *cardrun.Session) (*reply, error) {
	snapshot, last := live.Look()
	out, err := replyWith(http.StatusOK, snapshot)
	if err == nil {
		out.LastEventID = last.String()
	}
	return out, err
}

func (s *Server) readSession(ctx context.Context, in *sessionInput) (*reply, error) {
	e, err := s.sessions.take(in.Session)
	if err != nil {
		return nil, err
	}
	defer s.sessions.put(e)
	return shown(e.live)
}

// eventsInput is events for a session.
type eventsInput struct {
	Session string `path:"session" maxLength:"64" doc:"The id that opening it gave."`
	RawBody []byte `contentType:"application/json"`
}

func (s *Server) sendEvents(ctx context.Context, in *eventsInput) (*reply, error) {
	e, err := s.sessions.take(in.Session)
	if err != nil {
		return nil, err
	}
	defer s.sessions.put(e)
	events, err := decodeEvents(in.RawBody)
	if err != nil {
		return nil, err
	}
	report, err := e.live.Send(ctx, events...)
	switch {
	case errors.Is(err, cardrun.ErrEnded):
		return nil, ended(e.live)
	case errors.Is(err, cardrun.ErrEvent):
		return nil, problem(http.StatusUnprocessableEntity, codeEvent, err.Error())
	case err != nil:
		return nil, err
	}
	p := e.live.Follow(0, 0)
	first := p.First + len(p.Rounds) - len(report.Rounds)
	s.metrics.round(report.Rounds, first, p.Failure)
	out, err := replyWith(http.StatusOK, &report)
	if err == nil {
		out.LastEventID = report.Last.String()
	}
	return out, err
}

// ended says why an activation takes no events.
func ended(live *cardrun.Session) *Problem {
	p := problem(http.StatusConflict, codeEnded, "the activation has ended, and takes no events; refresh starts a new one")
	p.Failure = live.Follow(0, 0).Failure
	return p
}

func (s *Server) refreshSession(ctx context.Context, in *sessionInput) (*reply, error) {
	e, err := s.sessions.take(in.Session)
	if err != nil {
		return nil, err
	}
	defer s.sessions.put(e)
	return work(ctx, s, func(ctx context.Context, _ *cardrun.Runtime) (*reply, error) {
		if err := e.live.Refresh(ctx); err != nil {
			if errors.Is(err, cardrun.ErrEnded) {
				return nil, problem(http.StatusGone, codeClosed, "the session was deleted; open a new one")
			}
			return nil, err
		}
		if p := e.live.Follow(0, 0); p.First == 0 && len(p.Rounds) > 0 {
			s.metrics.round(p.Rounds[:1], 0, p.Failure)
		}
		return shown(e.live)
	})
}

func (s *Server) deleteSession(_ context.Context, in *sessionInput) (*nothing, error) {
	e, err := s.sessions.take(in.Session)
	if err != nil {
		return nil, err
	}
	s.sessions.remove(e)
	s.sessions.put(e)
	return nil, nil
}
