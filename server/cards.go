package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"example.com/cardrun"
)

// cardInput is a card and how to run it.
type cardInput struct {
	Seed    string `query:"seed" doc:"Seed of Math.random, 0 to 2^64-1; without it, one at random." pattern:"^[0-9]{1,20}$" example:"1"`
	Now     string `query:"now" doc:"The time that the card's clock stands at, RFC 3339, 1970 to 2261; without it, time is real." format:"date-time" example:"2026-01-02T03:04:05Z"`
	RawBody []byte `contentType:"application/json"`
}

// options reads the parameters: each at most once, and none empty.
func (in *cardInput) options(ctx context.Context) (o cardrun.RenderOptions, err error) {
	query, err := url.ParseQuery(requestOf(ctx).query)
	if err != nil {
		return o, badParameter("the query cannot be read: %v", err)
	}
	for name, values := range query {
		if len(values) > 1 || values[0] == "" {
			return o, badParameter("%.20s stands there %d times, or has no value; give it once", name, len(values))
		}
	}
	if in.Seed != "" {
		seed, err := strconv.ParseUint(in.Seed, 10, 64)
		if err != nil {
			return o, badParameter("seed is %.40q; give an integer from 0 to 18446744073709551615", in.Seed)
		}
		o.Seed = &seed
	}
	if in.Now != "" {
		if o.Now, err = time.Parse(time.RFC3339, in.Now); err != nil {
			return o, badParameter("now is %.40q; give a time as in 2026-01-02T03:04:05Z (RFC 3339)", in.Now)
		}
		if year := o.Now.UTC().Year(); year < 1970 || year > 2261 {
			return o, badParameter("now is %.40q; the year must be 1970 to 2261", in.Now)
		}
	}
	return o, nil
}

func badParameter(format string, args ...any) *Problem {
	return problem(http.StatusUnprocessableEntity, codeParameter, fmt.Sprintf(format, args...))
}

// work does something on a worker, when it is this client's turn.
func work[T any](ctx context.Context, s *Server, do func(ctx context.Context, rt *cardrun.Runtime) (T, error)) (T, error) {
	var none T
	u, err := s.turns.enter(ctx, requestOf(ctx).client.name, false)
	if err != nil {
		return none, err
	}
	defer u.done()
	out, err := do(context.WithValue(ctx, turnKey{}, u), s.rt.Load())
	if err != nil {
		return none, fmt.Errorf("run card: %w", err)
	}
	return out, nil
}

func (s *Server) render(ctx context.Context, in *cardInput) (*reply, error) {
	o, err := in.options(ctx)
	if err != nil {
		return nil, err
	}
	return work(ctx, s, func(ctx context.Context, rt *cardrun.Runtime) (*reply, error) {
		card := cardrun.Decode(in.RawBody)
		snapshot, err := rt.Render(ctx, &card, o)
		if err != nil {
			return nil, err
		}
		s.metrics.round(snapshot.Rounds, 0, snapshot.Failure)
		status := http.StatusOK
		if snapshot.Outcome == cardrun.Rejected {
			status = http.StatusUnprocessableEntity
		}
		return replyWith(status, snapshot)
	})
}

// findings is the answer of check.
type findings struct {
	Diagnostics []cardrun.Diagnostic `json:"diagnostics"`
}

// onlyCard is a card alone.
type onlyCard struct {
	RawBody []byte `contentType:"application/json"`
}

func (s *Server) check(ctx context.Context, in *onlyCard) (*reply, error) {
	return work(ctx, s, func(ctx context.Context, rt *cardrun.Runtime) (*reply, error) {
		card := cardrun.Decode(in.RawBody)
		found, err := rt.Check(ctx, &card)
		if err != nil {
			return nil, err
		}
		return replyWith(http.StatusOK, findings{found})
	})
}

// status is the answer of healthz and readyz.
type status struct {
	Status string `json:"status" enum:"ok,ready"`
}

func (s *Server) healthz(context.Context, *nothing) (*reply, error) {
	return replyWith(http.StatusOK, status{"ok"})
}

func (s *Server) readyz(context.Context, *nothing) (*reply, error) {
	switch {
	case s.draining.Load():
		return nil, problem(http.StatusServiceUnavailable, codeDraining, "the service is about to end")
	case s.rt.Load() == nil:
		return nil, problem(http.StatusServiceUnavailable, codeNotReady, "the engine is starting")
	}
	return replyWith(http.StatusOK, status{"ready"})
}

func (s *Server) readDescription(context.Context, *nothing) (*reply, error) {
	return &reply{Status: http.StatusOK, ContentType: "application/json", Length: len(s.describe), Body: s.describe}, nil
}
