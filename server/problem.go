package server

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun"
)

// Problem is the body of every refusal: RFC 9457, with a stable code. It is an error, which handlers return.
type Problem struct {
	Status int `json:"status"`
	// Code is for programs; the set is closed, see [Codes].
	Code  string `json:"code"`
	Title string `json:"title"`
	// Detail says what was found, the limit where there is one, and what to do instead.
	Detail string `json:"detail"`
	// RequestID is the one in the X-Request-Id header, and in the log.
	RequestID string `json:"request_id,omitzero"`
	// Failure is why the activation ended (code activation_ended); absent when the session was closed meanwhile.
	Failure *cardrun.Failure `json:"failure,omitzero"`
	// Snapshot is that of a card that was rejected (code card_rejected).
	Snapshot *cardrun.Snapshot `json:"snapshot,omitzero"`

	retry time.Duration // for Retry-After; 0 is none
	close bool          // the connection is of no use any more
}

// The codes of problems. Their texts are part of the wire format.
const (
	codeUnauthorized = "unauthorized"           // 401: no token, or one that is not known
	codeOrigin       = "origin_forbidden"       // 403: a page of another origin asks
	codeHost         = "host_forbidden"         // 421: the Host header names somebody else
	codeNotFound     = "not_found"              // 404: no such path
	codeUnknown      = "session_unknown"        // 404: there never was such a session, or long ago
	codeExpired      = "session_expired"        // 410: it was idle too long, or had to make room
	codeClosed       = "session_closed"         // 410: it was deleted
	codeMethod       = "method_not_allowed"     // 405
	codeLength       = "length_required"        // 411: a body is needed, and neither its length nor chunks were announced
	codeTooLarge     = "body_too_large"         // 413
	codeSlow         = "body_slow"              // 408: the body did not come in time
	codeIncomplete   = "body_incomplete"        // 400: the body broke off
	codeMediaType    = "media_type_unsupported" // 415
	codeEncoding     = "encoding_unsupported"   // 415: compressed bodies are not read
	codeJSON         = "json_invalid"           // 400: not JSON, a repeated member, or no UTF-8
	codeEvent        = "event_invalid"          // 422: an event that no page would send
	codeParameter    = "parameter_invalid"      // 422: in the query
	codeRejected     = "card_rejected"          // 422: the snapshot's diagnostics say why
	codeEnded        = "activation_ended"       // 409: the failure says why; refresh starts a new one
	codeRate         = "rate_limited"           // 429
	codeSessions     = "too_many_sessions"      // 429: of one client
	codeOverloaded   = "overloaded"             // 503
	codeStreams      = "too_many_streams"       // 503
	codeNotReady     = "not_ready"              // 503: the engine has not proved itself yet
	codeDraining     = "draining"               // 503: the service is about to end; only readyz says so
	codeInternal     = "internal"               // 500
)

// Codes are all codes that a [Problem] can have.
func Codes() []string {
	return []string{
		codeUnauthorized, codeOrigin, codeHost, codeNotFound, codeUnknown, codeExpired, codeClosed, codeMethod, codeLength,
		codeTooLarge, codeSlow, codeIncomplete, codeMediaType, codeEncoding, codeJSON, codeEvent, codeParameter, codeRejected,
		codeEnded, codeRate, codeSessions, codeOverloaded, codeStreams, codeNotReady, codeDraining, codeInternal,
	}
}

func problem(status int, code, detail string) *Problem {
	return &Problem{Status: status, Code: code, Title: http.StatusText(status), Detail: detail}
}

// Error is code: detail.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// GetStatus is for huma.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is for huma.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders is for huma.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	p.headers(h)
	return h
}

func (p *Problem) headers(h http.Header) {
	if p.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int((p.retry+time.Second-1)/time.Second)))
	}
	if p.close {
		h.Set("Connection", "close")
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="cardrun"`)
	}
}

// write answers with the problem, outside huma.
func (p *Problem) write(w http.ResponseWriter, requestID string) {
	out := *p // which may be shared
	out.RequestID = requestID
	body, err := marshal(&out)
	if err != nil {
		http.Error(w, codeInternal, http.StatusInternalServerError)
		return
	}
	h := w.Header()
	p.headers(h)
	h.Set("Content-Type", p.ContentType(""))
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // a client that went away
}

// transform gives huma's own refusals their code, and every problem its request id.
func transform(ctx huma.Context, _ string, v any) (any, error) {
	p, ok := v.(*Problem)
	if m, is := v.(*huma.ErrorModel); is {
		p, ok = ofHuma(m), true
	}
	if !ok {
		return v, nil
	}
	out := *p
	out.RequestID = requestOf(ctx.Context()).id
	return &out, nil
}

// ofHuma turns what huma refused, which is parameters alone, into a Problem. Whatever else it may say is a fault of this
// package.
func ofHuma(m *huma.ErrorModel) *Problem {
	if m.Status != http.StatusUnprocessableEntity {
		return problem(m.Status, codeInternal, "the request could not be handled")
	}
	detail := "the query is not acceptable"
	for _, e := range m.Errors {
		detail += "; " + e.Location + ": " + e.Message
	}
	return problem(m.Status, codeParameter, detail)
}

// asProblem finds the problem in an error.
func asProblem(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	return problem(http.StatusInternalServerError, codeInternal, "the service failed; the log has more under the request id")
}

// marshal is the one way to JSON: as cardrun's own, nothing is escaped that need not be, lists are never null.
func marshal(v any) ([]byte, error) {
	if s, ok := v.(*cardrun.Snapshot); ok {
		return s.AppendJSON(nil)
	}
	return json.Marshal(v, jsontext.AllowInvalidUTF8(true))
}
