package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"example.com/cardrun"
	"example.com/cardrun/limits"
)

// description makes the OpenAPI description of what is served.
type description struct {
	api    huma.API
	schema map[string]*huma.Schema
}

// answerOf is one status that a call can have, and what then is in the body.
type answerOf struct {
	status int
	schema string // a name of description.schema; text, stream or object; empty for none
	when   string
}

func with(status int, schema, when string) answerOf { return answerOf{status, schema, when} }

func newDescription(api huma.API) *description {
	d := &description{api: api, schema: make(map[string]*huma.Schema)}
	registry := api.OpenAPI().Components.Schemas
	for name, of := range map[string]reflect.Type{
		"Snapshot": reflect.TypeFor[cardrun.Snapshot](),
		"Report":   reflect.TypeFor[cardrun.Report](),
		"Event":    reflect.TypeFor[cardrun.Event](),
		"Problem":  reflect.TypeFor[Problem](),
		"Findings": reflect.TypeFor[findings](),
		"Opened":   reflect.TypeFor[opened](),
		"Status":   reflect.TypeFor[status](),
		"End":      reflect.TypeFor[streamEnd](),
	} {
		d.schema[name] = registry.Schema(of, true, name)
	}
	d.refine(registry.Map())
	return d
}

// refine says what Go's types do not: what may be null, and which words there are.
func (d *description) refine(m map[string]*huma.Schema) {
	null := &huma.Schema{Type: "null"}
	nullable := func(of, field string) {
		ref := m[of].Properties[field]
		m[of].Properties[field] = &huma.Schema{OneOf: []*huma.Schema{ref, null}}
	}
	words := func(of, field string, list ...any) { m[of].Properties[field].Enum = list }
	codes := func(of string, list ...limits.Code) {
		all := make([]any, len(list))
		for n, c := range list {
			all[n] = string(c)
		}
		words(of, "code", all...)
	}
	nullable("Snapshot", "display")
	nullable("Snapshot", "failure")
	nullable("Round", "event")
	words("Snapshot", "outcome", "ready", "failed", "rejected")
	words("Round", "phase", "init", "event")
	words("Failure", "phase", "init", "event")
	words("Event", "type", "input", "change", "click")
	words("Patch", "op", "text", "html", "value")
	words("Diagnostic", "severity", "error", "warning", "note")
	codes("Failure", limits.Exception, limits.Rejection, limits.Timeout, limits.Memory, limits.TooManyMicrotasks,
		limits.TooManyPatches, limits.UIOperation, limits.InvalidPatch, limits.InputLimit, limits.Engine)
	var problems []any
	for _, c := range Codes() {
		problems = append(problems, c)
	}
	words("Problem", "code", problems...)
	id := m["Event"].Properties["id"]
	id.Pattern = `^[A-Za-z][A-Za-z0-9_-]{0,63}$`
	for _, s := range m { // lists are never null
		for _, p := range s.Properties {
			if p.Type == huma.TypeArray {
				p.Nullable = false
			}
		}
	}
}

// responses are what a call can answer: its own, and what the gate and the session store say.
func (d *description) responses(s *Server, at route, path string, own []answerOf) map[string]*huma.Response {
	all := slices.Clone(own)
	also := func(status int, when string) {
		if !slices.ContainsFunc(all, func(a answerOf) bool { return a.status == status }) {
			all = append(all, with(status, "Problem", when))
		}
	}
	if !at.open {
		also(http.StatusForbidden, "A page of an origin that is not listed asks ("+codeOrigin+").")
		also(http.StatusRequestEntityTooLarge, "The body is too large ("+codeTooLarge+").")
		also(http.StatusUnprocessableEntity, "A parameter is not acceptable ("+codeParameter+").")
		if s.rates.rate >= 0 {
			also(http.StatusTooManyRequests, "Too many requests ("+codeRate+").")
		}
		if s.o.Local || len(s.o.Hosts) > 0 {
			also(http.StatusMisdirectedRequest, "The Host header names another service ("+codeHost+").")
		}
		if len(s.tokens) > 0 && !at.bare {
			also(http.StatusUnauthorized, "No token ("+codeUnauthorized+").")
		}
	} else {
		also(http.StatusRequestEntityTooLarge, "There is a body ("+codeTooLarge+").")
		also(http.StatusUnprocessableEntity, "A parameter is not acceptable ("+codeParameter+").")
	}
	if at.body > 0 {
		also(http.StatusBadRequest, "The body broke off ("+codeIncomplete+").")
		also(http.StatusRequestTimeout, "The body did not come in time ("+codeSlow+").")
		also(http.StatusLengthRequired, "There is no body ("+codeLength+").")
		also(http.StatusUnsupportedMediaType, "The body is not JSON by its headers, or is compressed.")
	}
	if at.work {
		also(http.StatusServiceUnavailable, "Overloaded, or not ready yet; Retry-After says when to try again.")
	}
	if len(path) > len("/v1/sessions") && path[:len("/v1/sessions")] == "/v1/sessions" {
		also(http.StatusNotFound, "There is no such session ("+codeUnknown+").")
		also(http.StatusGone, "The session has ended ("+codeExpired+", "+codeClosed+").")
	}
	out := make(map[string]*huma.Response, len(all))
	for _, a := range all {
		out[strconv.Itoa(a.status)] = d.response(a)
	}
	return out
}

func (d *description) response(a answerOf) *huma.Response {
	r := &huma.Response{Description: a.when, Content: map[string]*huma.MediaType{}, Headers: map[string]*huma.Param{}}
	text := &huma.Schema{Type: huma.TypeString}
	if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
		r.Headers["Retry-After"] = &huma.Param{Description: "Seconds.", Schema: &huma.Schema{Type: huma.TypeInteger}}
	}
	switch a.schema {
	case "":
	case "text":
		r.Content["text/plain"] = &huma.MediaType{Schema: text}
	case "object":
		r.Content["application/json"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeObject}}
	case "stream":
		r.Content["text/event-stream"] = &huma.MediaType{Schema: text}
		r.Description += " The data of round is a Round, of failure a Failure, of end a StreamEnd, after which the stream is over."
	case "Problem":
		r.Content["application/problem+json"] = &huma.MediaType{Schema: d.schema[a.schema]}
	default:
		r.Content["application/json"] = &huma.MediaType{Schema: d.schema[a.schema]}
	}
	if a.schema == "Snapshot" && a.status == http.StatusUnprocessableEntity {
		r.Content["application/problem+json"] = &huma.MediaType{Schema: d.schema["Problem"]}
	}
	if a.schema == "Snapshot" && a.status == http.StatusOK || a.schema == "Opened" {
		r.Headers["Last-Event-ID"] = &huma.Param{Description: "Of a session: from here a stream goes on behind what is shown.", Schema: text}
	}
	return r
}

// body is what a call takes.
func (d *description) body(call string) *huma.RequestBody {
	schema := &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"title", "summary", "html", "css", "javascript"},
		Description: "A card. Lengths count UTF-16 code units. What is wrong with a card is said in the answer's diagnostics, all at once.",
		Properties:  map[string]*huma.Schema{},
	}
	for name, length := range map[string][2]int{
		"title": {1, limits.TitleLength}, "summary": {1, limits.SummaryLength}, "html": {1, limits.HTMLLength},
		"css": {0, limits.CSSLength}, "javascript": {0, limits.JavaScriptLength},
	} {
		schema.Properties[name] = &huma.Schema{Type: huma.TypeString, MinLength: &length[0], MaxLength: &length[1]}
	}
	if call == "sendEvents" {
		most := mostEvents
		event := d.schema["Event"]
		schema = &huma.Schema{OneOf: []*huma.Schema{event, {Type: huma.TypeArray, Items: event, MaxItems: &most}}}
	}
	return &huma.RequestBody{Required: false, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
}

// finish writes the description.
func (d *description) finish(secured bool) ([]byte, error) {
	o := d.api.OpenAPI()
	for _, unused := range []string{"ErrorModel", "ErrorDetail"} { // huma's own, which are never sent
		delete(o.Components.Schemas.Map(), unused)
	}
	if secured {
		o.Security = []map[string][]string{{"token": {}}}
		for _, path := range []string{"/healthz", "/readyz", "/openapi.json"} {
			o.Paths[path].Get.Security = []map[string][]string{{}}
		}
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("write description: %w", err)
	}
	return text, nil
}

// readMetrics is /metrics for those who have no listener of their own for it.
func (s *Server) readMetrics(ctx context.Context, _ *nothing) (*reply, error) {
	var text bytes.Buffer
	w := &capture{header: http.Header{}, body: &text}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	s.metrics.handler().ServeHTTP(w, r)
	return &reply{Status: http.StatusOK, ContentType: w.header.Get("Content-Type"), Length: text.Len(), Body: text.Bytes()}, nil
}

// capture is a ResponseWriter in memory.
type capture struct {
	header http.Header
	body   *bytes.Buffer
}

func (c *capture) Header() http.Header         { return c.header }
func (c *capture) Write(b []byte) (int, error) { return c.body.Write(b) }
func (c *capture) WriteHeader(int)             {}
