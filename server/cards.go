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

// checkQuery refuses parameters that stand there twice or are empty.
func checkQuery(ctx context.Context) error {
	query, err := url.ParseQuery(requestOf(ctx).query)
	if err != nil {
		return badParameter("the query cannot be read: %v", err)
	}
	for name, values := range query {
		if len(values) > 1 || values[0] == "" {
			return badParameter("%.20s stands there %d times, or has no value; give it once", name, len(values))
		}
	}
	return nil
}

// options reads the parameters.
func (in *cardInput) options(ctx context.Context) (o cardrun.RenderOptions, err error) {
	if err := checkQuery(ctx); err != nil {
		return o, err
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
	card := cardrun.Decode(in.RawBody)
	if snapshot := s.rt.Load().Remembered(&card, o); snapshot != nil {
		return s.rendered(snapshot) // nobody waits in line for an answer that is there
	}
	return work(ctx, s, func(ctx context.Context, rt *cardrun.Runtime) (*reply, error) {
		snapshot, err := rt.Render(ctx, &card, o)
		if err != nil {
			return nil, err
		}
		return s.rendered(snapshot)
	})
}

func (s *Server) rendered(snapshot *cardrun.Snapshot) (*reply, error) {
	s.metrics.round(snapshot.Rounds, 0, snapshot.Failure)
	status := http.StatusOK
	if snapshot.Outcome == cardrun.Rejected {
		status = http.StatusUnprocessableEntity
	}
	return replyWith(status, snapshot)
}

// findings is the answer of check; what follows the diagnostics is there with run=1.
type findings struct {
	Diagnostics []cardrun.Finding `json:"diagnostics"`

	Outcome  cardrun.Outcome   `json:"outcome,omitzero"`
	Budgets  []cardrun.Budget  `json:"budgets,omitzero"`
	Explored *cardrun.Explored `json:"explored,omitzero"`
}

// checkInput is a card to look at.
type checkInput struct {
	Run     string `query:"run" enum:"0,1" doc:"1 runs the card too, and tries inputs on it for a while."`
	RawBody []byte `contentType:"application/json"`
}

// reviewTime is how long inputs are tried for run=1; races and the shortening of findings come behind.
const reviewTime = time.Second

func (s *Server) check(ctx context.Context, in *checkInput) (*reply, error) {
	if err := checkQuery(ctx); err != nil {
		return nil, err
	}
	card := cardrun.Decode(in.RawBody)
	if in.Run != "1" {
		return work(ctx, s, func(ctx context.Context, rt *cardrun.Runtime) (*reply, error) {
			found, err := rt.Lint(ctx, &card)
			if err != nil {
				return nil, err
			}
			return replyWith(http.StatusOK, findings{Diagnostics: found})
		})
	}
	select {
	case s.reviews <- struct{}{}:
		defer func() { <-s.reviews }()
	default:
		s.metrics.shed.WithLabelValues("reviews").Inc()
		p := overloaded(2 * reviewTime)
		p.Detail = fmt.Sprintf("%d cards are being reviewed, which is as many as may be at once; try again after the time in Retry-After", cap(s.reviews))
		return nil, p
	}
	// Each of its rounds waits for a turn of this client's own, so that others go on meanwhile.
	v, err := s.rt.Load().Review(ctx, &card, cardrun.ReviewOptions{Fuzz: reviewTime})
	if err != nil {
		return nil, fmt.Errorf("review card: %w", err)
	}
	return replyWith(http.StatusOK, findings{Diagnostics: v.Findings, Outcome: v.Outcome, Budgets: v.Budgets, Explored: v.Explored})
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
