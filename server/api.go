package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-json-experiment/json"

	"example.com/cardrun"
)

// reply is what a handler answers: JSON text that it has written itself.
type reply struct {
	Status      int
	ContentType string `header:"Content-Type" hidden:"true"`
	Length      int    `header:"Content-Length" hidden:"true"`
	LastEventID string `header:"Last-Event-ID" hidden:"true"`
	Body        []byte
}

func replyWith(status int, v any) (*reply, error) {
	body, err := marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write answer: %w", err)
	}
	return &reply{Status: status, ContentType: "application/json", Length: len(body), Body: body}, nil
}

// nothing is a call without parameters, or an answer without a body.
type nothing struct{}

// The most bytes of bodies.
const (
	maxCard   = cardrun.MaxJSON
	maxEvents = 1 << 20 // 64 events, each with a value of 2,048 characters in JSON's longest spelling
)

// register makes the API: routes and their description.
func (s *Server) register() error {
	format := huma.Format{
		Marshal: func(w io.Writer, v any) error {
			b, err := marshal(v)
			if err == nil {
				_, err = w.Write(b)
			}
			return err
		},
		Unmarshal: func(b []byte, v any) error { return json.Unmarshal(b, v) },
	}
	config := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "cardrun", Version: "1",
				Description: "Runs cards: small interactive calculators that a language model wrote as {title, summary, html, css, javascript}. " +
					"The script runs on the server, in a sandbox with hard limits. Every refusal is a problem (RFC 9457) with a stable code.",
			},
			Components: &huma.Components{
				Schemas:         huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer", Description: "Where the service has tokens."}},
			},
		},
		Formats:                      map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{transform},
	}
	api := humago.New(s.mux, config)
	d := newDescription(api)

	add(s, d, call{"render", http.MethodPost, "/v1/render", route{body: maxCard, work: true}, "Run a card once",
		"Give seed and now for output that repeats."}, s.render,
		with(200, "Snapshot", "The card was run; outcome is ready or failed."), with(422, "Snapshot", "The card was rejected, or "+codeParameter+"."))
	add(s, d, call{"check", http.MethodPost, "/v1/check", route{body: maxCard, work: true}, "Find what is wrong with a card", "Without running it; or, with run=1, by running it and trying inputs."}, s.check,
		with(200, "Findings", "What was found; an error among it means that the card would be rejected."))
	add(s, d, call{"openSession", http.MethodPost, "/v1/sessions", route{body: maxCard, work: true}, "Open a session", "Give seed and now for output that repeats."}, s.openSession,
		with(201, "Opened", "The session lives; its id is a secret, and all that opens it."), with(422, "Problem", "The card was rejected, or "+codeParameter+"."), with(429, "Problem", "Too many sessions, or requests."))
	add(s, d, call{"readSession", http.MethodGet, "/v1/sessions/{session}", route{}, "What a session shows now", ""}, s.readSession,
		with(200, "Snapshot", "Everything there is to see now."))
	add(s, d, call{"sendEvents", http.MethodPost, "/v1/sessions/{session}/events", route{body: maxEvents, work: true}, "Send events, and wait for what comes of them", "One event, or an array of at most 64."}, s.sendEvents,
		with(200, "Report", "The rounds that ended, and the controls afterwards."), with(400, "Problem", "The body is not JSON."), with(409, "Problem", "The activation has ended; failure says why."), with(422, "Problem", "An event that no page would send."))
	add(s, d, call{"followSession", http.MethodGet, "/v1/sessions/{session}/stream", route{}, "Follow a session", "Server-sent events: round, failure, end."}, s.followSession,
		with(200, "stream", "A stream of events. An id is ACTIVATION.ROUND; give the last one as Last-Event-ID to go on behind it."), with(503, "Problem", "Too many streams follow this session."), with(422, "Problem", "Last-Event-ID is none."))
	add(s, d, call{"refreshSession", http.MethodPost, "/v1/sessions/{session}/refresh", route{work: true}, "Start anew, from the saved document and its initial values", ""}, s.refreshSession,
		with(200, "Snapshot", "The new activation."))
	add(s, d, call{"deleteSession", http.MethodDelete, "/v1/sessions/{session}", route{}, "End a session", ""}, s.deleteSession,
		with(204, "", "The guest is gone."))
	add(s, d, call{"healthz", http.MethodGet, "/healthz", route{open: true}, "Is the process alive?", ""}, s.healthz, with(200, "Status", "It is."))
	add(s, d, call{"readyz", http.MethodGet, "/readyz", route{open: true}, "Does it take work?", ""}, s.readyz,
		with(200, "Status", "It does."), with(503, "Problem", "Not yet, or not any more."))
	if s.o.Local || len(s.o.Tokens) > 0 {
		add(s, d, call{"metrics", http.MethodGet, "/metrics", route{}, "Prometheus metrics", ""}, s.readMetrics, with(200, "text", "Metrics as text."))
	}
	add(s, d, call{"openapi", http.MethodGet, "/openapi.json", route{bare: true}, "This description", ""}, s.readDescription, with(200, "object", "OpenAPI 3.1."))
	text, err := d.finish(len(s.o.Tokens) > 0)
	s.describe = text
	return err
}

// call is one operation.
type call struct {
	id, method, path string
	route            route
	summary, details string
}

// add registers an operation with what it can answer beside what all can.
func add[I, O any](s *Server, d *description, c call, handler func(context.Context, *I) (*O, error), answers ...answerOf) {
	pattern := c.method + " " + c.path
	c.route.name = c.path
	s.routes[pattern] = c.route
	op := huma.Operation{
		OperationID: c.id, Method: c.method, Path: c.path, Summary: c.summary, Description: c.details,
		SkipValidateBody: true, MaxBodyBytes: -1, BodyReadTimeout: -1, // the gate has read it
		Responses: d.responses(s, c.route, c.path, answers),
	}
	if i := slices.IndexFunc(answers, func(a answerOf) bool { return a.status < 300 }); i >= 0 {
		op.DefaultStatus = answers[i].status
	}
	if c.route.body > 0 {
		op.RequestBody = d.body(c.id)
	}
	huma.Register(d.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handler(ctx, in)
		if err != nil {
			return nil, s.explain(ctx, err)
		}
		return out, nil
	})
	if op.RequestBody != nil {
		op.RequestBody.Required = false // an empty body is a card that is no JSON, and is answered as one
	}
}

// explain turns an error into the problem that is answered, and logs what is the service's own fault.
func (s *Server) explain(ctx context.Context, err error) error {
	p := asProblem(err)
	if p.Code == codeInternal && ctx.Err() == nil {
		s.o.Log.Error("fault", "request_id", requestOf(ctx).id, "error", err.Error())
	}
	return p
}
