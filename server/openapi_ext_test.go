package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"example.com/cardrun/server"
)

// described is what /openapi.json says, as far as this test looks.
type described struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		Responses map[string]struct {
			Description string
			Content     map[string]struct{ Schema map[string]any }
		}
	}
	Components struct{ Schemas map[string]map[string]any }
}

// describer holds what services answer against their own description.
type describer struct {
	t        *testing.T
	declared map[string]bool // "POST /v1/render 200"
	reached  map[string]bool
}

func (d *describer) read(v *service) described {
	var o described
	if err := json.Unmarshal(v.expect(v.call("GET", "/openapi.json", ""), 200, "").body, &o); err != nil {
		d.t.Fatal(err)
	}
	if o.OpenAPI != "3.1.0" {
		d.t.Errorf("openapi %q", o.OpenAPI)
	}
	for path, methods := range o.Paths {
		for method, op := range methods {
			for status := range op.Responses {
				d.declared[strings.ToUpper(method)+" "+path+" "+status] = true
			}
		}
	}
	return o
}

// resolve makes a JSON schema of one of the description's.
func (o described) resolve(t *testing.T, schema map[string]any) *jsonschema.Resolved {
	t.Helper()
	whole := map[string]any{"$defs": o.Components.Schemas}
	maps.Copy(whole, schema)
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "#/components/schemas/", "#/$defs/")), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// check calls an operation by its path in the description, and holds the answer against it.
func (d *describer) check(v *service, o described, method, template, id, query, body string, headers ...string) answered {
	d.t.Helper()
	a := v.call(method, strings.ReplaceAll(template, "{session}", id)+query, body, headers...)
	return d.hold(o, method, template, a)
}

// broken calls an operation with a body that the header lines and text in rest begin.
func (d *describer) broken(v *service, o described, template, id, rest string) answered {
	d.t.Helper()
	text := v.raw("POST " + strings.ReplaceAll(template, "{session}", id) + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + rest)
	res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
	if err != nil {
		d.t.Fatalf("%s %q: %v", template, rest, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatalf("%s %q: %v", template, rest, err)
	}
	return d.hold(o, "POST", template, answered{res.StatusCode, res.Header, body})
}

// hold holds an answer against the description.
func (d *describer) hold(o described, method, template string, a answered) answered {
	d.t.Helper()
	what := fmt.Sprintf("%s %s %d", method, template, a.status)
	d.reached[what] = true
	op, ok := o.Paths[template][strings.ToLower(method)]
	if !ok {
		d.t.Fatalf("%s is not described", what)
	}
	response, ok := op.Responses[fmt.Sprint(a.status)]
	if !ok {
		d.t.Errorf("%s is not declared: %.200s", what, a.body)
		return a
	}
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	content, ok := response.Content[kind]
	switch {
	case !ok && len(a.body) > 0:
		d.t.Errorf("%s answers %q, which is not declared", what, kind)
	case strings.HasSuffix(kind, "json"):
		var body any
		if err := json.Unmarshal(a.body, &body); err != nil {
			d.t.Fatalf("%s: %v", what, err)
		}
		if err := o.resolve(d.t, content.Schema).Validate(body); err != nil {
			d.t.Errorf("%s: %v\n%.300s", what, err, a.body)
		}
	}
	return a
}

// TestOpenAPI drives services by their description: each status that is declared is reached, each answer is as declared.
func TestOpenAPI(t *testing.T) {
	d := &describer{t, map[string]bool{}, map[string]bool{}}
	const events, stream, refresh, session = "/v1/sessions/{session}/events", "/v1/sessions/{session}/stream", "/v1/sessions/{session}/refresh", "/v1/sessions/{session}"
	v := listen(t, server.Options{Local: true, BodyTime: 200 * time.Millisecond, MaxSessions: 3})
	o := d.read(v)
	none := "AAAAAAAAAAAAAAAAAAAAAA"
	expired := v.open(counting)
	for range 3 {
		v.open(counting)
	}
	v.open(counting)
	// What every operation answers alike.
	for path, methods := range o.Paths {
		for method := range methods {
			method := strings.ToUpper(method)
			body := ""
			if method == http.MethodPost && path != refresh {
				body = counting
				d.check(v, o, method, path, none, "", body, "Content-Encoding", "gzip")
				d.check(v, o, method, path, none, "", strings.Repeat(" ", 2<<20))
				d.check(v, o, method, path, none, "", "")
			} else {
				d.check(v, o, method, path, none, "", "x")
			}
			d.check(v, o, method, path, none, "", body, "Origin", "https://evil.example")
			d.check(v, o, method, path, none, "", body, "Host", "evil.example")
			d.check(v, o, method, path, none, "?x=1", body)
			if strings.Contains(path, "{session}") {
				d.check(v, o, method, path, none, "", body)
				d.check(v, o, method, path, expired, "", body)
			}
		}
	}
	for _, card := range []string{counting, cardOf(`null.x`), cardOf(`(`), `{`} {
		d.check(v, o, "POST", "/v1/render", "", "?seed=1", card)
		d.check(v, o, "POST", "/v1/check", "", "", card)
		d.check(v, o, "POST", "/v1/sessions", "", "", card)
	}
	for _, card := range []string{exampleText(t, "tip.json"), cardOf(`ui.on('i', 'input', e => ui.text('p', e.value === '' ? null.x : 'in: ' + Number(e.value)))`), cardOf(`null.x`), cardOf(`(`), "{"} {
		d.check(v, o, "POST", "/v1/check", "", "?run=1", card)
	}
	for _, c := range []struct{ rest, code string }{
		{"Content-Length: 100\r\n\r\n{", "body_slow"}, {"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\nx\r\n", "body_incomplete"},
		{"Connection: close\r\n\r\n", "length_required"},
	} {
		for _, path := range []string{"/v1/render", "/v1/check", "/v1/sessions", events} {
			if a := d.broken(v, o, path, none, c.rest); a.problem(t).Code != c.code {
				t.Errorf("%s %q: %s, want %s", path, c.rest, a.body, c.code)
			}
		}
	}
	live := v.open(counting)
	d.check(v, o, "GET", session, live, "", "")
	for _, body := range []string{press, "[" + press + "]", press, press, `{"id":"b","type":"x"}`, `[`} {
		d.check(v, o, "POST", events, live, "", body)
	}
	d.check(v, o, "GET", stream, live, "", "") // which ends, as the activation has
	d.check(v, o, "POST", refresh, live, "", "")
	for range 16 {
		_, cancel := v.follow(live, "")
		defer cancel()
	}
	d.check(v, o, "GET", stream, live, "", "")
	d.check(v, o, "DELETE", session, live, "", "")
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/openapi.json"} {
		d.check(v, o, "GET", path, "", "", "")
	}

	// Those with other options.
	unready := listen(t, server.Options{Local: true}, true)
	o = d.read(unready)
	d.check(unready, o, "GET", "/readyz", "", "", "")
	for _, path := range []string{"/v1/render", "/v1/check", "/v1/sessions", events, refresh} {
		body := counting
		if path == refresh {
			body = ""
		}
		d.check(unready, o, "POST", path, none, "", body)
	}
	secured := listen(t, server.Options{Tokens: []string{"0123456789abcdef012345"}, Rate: 20})
	o = d.read(secured)
	for _, headers := range [][]string{{}, {"Authorization", "Bearer 0123456789abcdef012345"}} {
		for range 45 { // more than twice the rate
			for path, methods := range o.Paths {
				for method := range methods {
					if method == "get" && strings.HasPrefix(path, "/v1/sessions") && len(headers) > 0 {
						path = session
					}
					body := ""
					if method == "post" && path != refresh {
						body = counting
					}
					d.check(secured, o, strings.ToUpper(method), path, none, "", body, headers...)
				}
			}
		}
	}
	missed := slices.Sorted(maps.Keys(d.declared))
	missed = slices.DeleteFunc(missed, func(what string) bool { return d.reached[what] })
	if len(missed) > 0 {
		t.Errorf("declared, and never answered:\n%s", strings.Join(missed, "\n"))
	}
	if got := len(d.declared); got < 100 {
		t.Errorf("only %d answers are declared", got)
	}
}

// TestOpenAPIStream holds the data of each kind of event against the schema that the description names for it.
func TestOpenAPIStream(t *testing.T) {
	v := listen(t, server.Options{Local: true})
	o := (&describer{t, map[string]bool{}, map[string]bool{}}).read(v)
	id := v.open(counting)
	for range 3 {
		v.expect(v.call("POST", "/v1/sessions/"+id+"/events", press), 200, "")
	}
	events, cancel := v.follow(id, "")
	defer cancel()
	seen := map[string]int{}
	for e := range events {
		seen[e.event]++
		name, ok := map[string]string{"round": "Round", "failure": "Failure", "end": "StreamEnd"}[e.event]
		if !ok || o.Components.Schemas[name] == nil || !strings.Contains(o.Paths["/v1/sessions/{session}/stream"]["get"].Responses["200"].Description, name) {
			t.Fatalf("the description does not tell of event %q", e.event)
		}
		var data any
		if err := json.Unmarshal([]byte(e.data), &data); err != nil {
			t.Fatal(err)
		}
		schema := o.resolve(t, o.Components.Schemas[name])
		if err := schema.Validate(data); err != nil {
			t.Errorf("%s: %v\n%.300s", e.event, err, e.data)
		}
		if err := schema.Validate(map[string]any{"another": 1}); err == nil {
			t.Errorf("%s: the schema takes anything", name)
		}
	}
	if seen["round"] != 4 || seen["failure"] != 1 || seen["end"] != 1 {
		t.Errorf("events: %v", seen)
	}
}
