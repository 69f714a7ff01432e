package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// route is what the gate knows of a route before it is called.
type route struct {
	name string // for logs and metrics: the path with its variables' names
	body int    // the most bytes of a body; 0 takes none
	work bool   // it runs cards
	open bool   // to anybody: no token, host or rate is looked at
	bare bool   // without a token alone
}

// request is what is known of a request beside its headers.
type request struct {
	id     string
	query  string
	client client
}

type requestKey struct{}

// requestOf finds it in a context, or in that of a session which was opened with one.
func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// answer is a ResponseWriter that remembers what was answered, and gives a client time to take it.
type answer struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// answerTime is how long a client may take to read an answer.
const answerTime = 15 * time.Second

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(answerTime))
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// gate is where every request comes in, and the only place that decides whether it goes on.
func (s *Server) gate(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	defer s.conns.enter(r.Context())()
	a := &answer{ResponseWriter: w}
	q := &request{id: requestID(r), query: r.URL.RawQuery}
	ctx := context.WithValue(r.Context(), requestKey{}, q)
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	handler, pattern := s.mux.Handler(r)
	at, known := s.routes[pattern]
	if !known {
		at = s.mounted(pattern)
	}
	ctx, span := s.o.Tracer.Start(ctx, method(r)+" "+at.name, trace.WithSpanKind(trace.SpanKindServer))
	h := a.Header()
	h.Set("X-Request-Id", q.id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
	}
	if s.draining.Load() {
		h.Set("Connection", "close")
	}
	r = r.WithContext(ctx)
	defer func() {
		fault := recover()
		if fault != nil && fault != http.ErrAbortHandler {
			s.o.Log.Error("panic", "request_id", q.id, "route", at.name, "fault", fmt.Sprint(fault), "stack", string(debug.Stack()))
			if a.status == 0 {
				problem(http.StatusInternalServerError, codeInternal, "the service failed; the log has more under the request id").write(a, q.id)
			}
		}
		s.record(r, q, at, a, span, time.Since(start))
		if fault != nil && a.status != http.StatusInternalServerError {
			panic(http.ErrAbortHandler) // the answer is not whole
		}
	}()
	if err := s.pass(a, r, q, at, pattern, handler); err != nil {
		asProblem(err).write(a, q.id)
	}
}

// pass lets a request through, or says why not.
func (s *Server) pass(a *answer, r *http.Request, q *request, at route, pattern string, handler http.Handler) error {
	if r.ContentLength != 0 { // whatever becomes of it, what is left of a body is not waited for
		_ = http.NewResponseController(a).SetReadDeadline(time.Now().Add(s.o.BodyTime))
	}
	if at.open {
		if r.ContentLength != 0 {
			return tooLarge(0)
		}
		s.mux.ServeHTTP(a, r)
		return nil
	}
	if p := s.checkHost(r); p != nil {
		return p
	}
	if p := s.checkOrigin(a, r); p != nil {
		return p
	}
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		a.WriteHeader(http.StatusNoContent)
		return nil
	}
	token := s.tokens.find(r)
	q.client = s.identify(r, token)
	if p := s.rates.take(q.client); p != nil {
		s.metrics.shed.WithLabelValues("rate").Inc()
		return p
	}
	if len(s.tokens) > 0 && token == 0 && !at.bare {
		return problem(http.StatusUnauthorized, codeUnauthorized, "a token is needed; send it as Authorization: Bearer TOKEN")
	}
	if pattern == "" {
		return refuseRoute(a, r, handler)
	}
	if at.work {
		if s.rt.Load() == nil {
			p := problem(http.StatusServiceUnavailable, codeNotReady, "the engine is starting; try again in a second")
			p.retry = time.Second
			return p
		}
		if p := s.turns.full(q.client.name); p != nil {
			s.metrics.shed.WithLabelValues("backlog").Inc()
			return p
		}
	}
	if at.body > 0 && r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodDelete {
		if p := checkBody(r); p != nil {
			return p
		}
		b, err := s.bodies.read(a, r, at.body)
		defer b.release()
		if err != nil {
			return err
		}
		r.Body = b
		r.ContentLength = int64(len(b.text))
	} else if r.ContentLength != 0 {
		return tooLarge(0)
	}
	s.mux.ServeHTTP(a, r)
	return nil
}

// refuseRoute answers as a ServeMux does that knows no such route, or not with that method.
func refuseRoute(w http.ResponseWriter, r *http.Request, handler http.Handler) error {
	probe := &answer{ResponseWriter: discard{http.Header{}}}
	handler.ServeHTTP(probe, r)
	switch allow := probe.Header().Get("Allow"); {
	case probe.status == http.StatusMethodNotAllowed:
		w.Header().Set("Allow", allow)
		return problem(probe.status, codeMethod, "this path allows "+allow)
	case probe.Header().Get("Location") != "":
		w.Header().Set("Location", probe.Header().Get("Location"))
		w.WriteHeader(probe.status)
		return nil
	}
	return problem(http.StatusNotFound, codeNotFound, "there is nothing here; /openapi.json describes what there is")
}

// discard is a ResponseWriter that keeps headers.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// mounted is the route of a mount.
func (s *Server) mounted(pattern string) route {
	for _, m := range s.o.Mounts {
		if m.Pattern == pattern {
			_, path, found := strings.Cut(pattern, " ")
			if !found {
				path = pattern
			}
			return route{name: path, body: m.MaxBody, work: m.Work, bare: m.Public}
		}
	}
	return route{name: "none"}
}

// checkHost refuses requests that name somebody else: a page in a browser whose name was made to point here.
func (s *Server) checkHost(r *http.Request) *Problem {
	if !s.o.Local && len(s.o.Hosts) == 0 {
		return nil
	}
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	local := name == "localhost" || strings.HasSuffix(name, ".localhost")
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		local = true
	}
	if local && s.o.Local || slices.ContainsFunc(s.o.Hosts, func(h string) bool { return strings.EqualFold(h, name) }) {
		return nil
	}
	return problem(http.StatusMisdirectedRequest, codeHost, "the Host header names another service; names beside localhost must be allowed with --host")
}

// checkOrigin refuses pages of origins that are not listed, and tells those of listed ones that they may read the answer.
func (s *Server) checkOrigin(w http.ResponseWriter, r *http.Request) *Problem {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return nil
	}
	origin := origins[0]
	listed := len(origins) == 1 && slices.Contains(s.o.Origins, origin)
	if len(s.o.Origins) > 0 {
		w.Header().Add("Vary", "Origin")
	}
	if u, err := url.Parse(origin); !listed && (len(origins) > 1 || err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host)) {
		return problem(http.StatusForbidden, codeOrigin, "pages of this origin may not call; origins are allowed with --origin")
	}
	if !listed {
		return nil
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Last-Event-ID, Retry-After, X-Request-Id")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Last-Event-ID, Traceparent, Tracestate, X-Request-Id")
		h.Set("Access-Control-Max-Age", "600")
	}
	return nil
}

// requestID is the caller's, where it is fit to be written down, or a new one.
func requestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	fit := id != "" && len(id) <= 64 && !strings.ContainsFunc(id, func(c rune) bool {
		return !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_')
	})
	if fit {
		return id
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// record writes down what became of a request: never its path, which may hold a secret, nor anything of a card. Of refusals
// there are [refusalLines] a second.
func (s *Server) record(r *http.Request, q *request, at route, a *answer, span trace.Span, took time.Duration) {
	status := a.status
	if status == 0 || status >= 500 && r.Context().Err() != nil {
		status = 499 // the client went away, and nobody was answered
	}
	s.metrics.request(at.name, status, took)
	span.SetAttributes(attribute.String("http.request.method", method(r)), attribute.String("http.route", at.name),
		attribute.Int("http.response.status_code", status), attribute.String("cardrun.request_id", q.id))
	if status >= 500 {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
	span.End()
	if at.open {
		return
	}
	left, ok := int64(0), true
	if shed(status) {
		if left, ok = s.lines.take(time.Now()); !ok {
			return
		}
	}
	fields := []slog.Attr{
		slog.String("request_id", q.id), slog.String("method", method(r)), slog.String("route", at.name),
		slog.Int("status", status), slog.Int64("bytes", a.bytes), slog.Int64("duration_us", took.Microseconds()),
		slog.String("client", q.client.name),
	}
	if left > 0 {
		fields = append(fields, slog.Int64("refusals_not_logged", left))
	}
	if sc := trace.SpanContextFromContext(r.Context()); sc.HasTraceID() {
		fields = append(fields, slog.String("trace_id", sc.TraceID().String()))
	}
	s.o.Log.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelInfo, "request", fields...)
}

// method is a request's, of the known ones: others are whatever a client likes.
func method(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return "other"
}
