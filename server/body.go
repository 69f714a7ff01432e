package server

import (
	"container/list"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
)

// bodies reads the bodies of requests, and bounds what those take that are being read or wait. Where they would take more,
// the one that has been on its way longest is given up: a body takes milliseconds from an honest client, so that slow ones
// never keep out others.
type bodies struct {
	most int           // bytes of all together
	time time.Duration // for one

	mu      sync.Mutex
	held    int
	reading *list.List // of *body, oldest first
}

// body is one that is read, or has been. Its memory counts until it is released.
type body struct {
	all    *bodies
	text   []byte
	held   int
	at     *list.Element // in reading; nil when it is there no more
	cancel func()        // makes reading fail
	given  bool          // up
	read   int           // of text, by those who take it from the request
}

func newBodies(most int, time time.Duration) *bodies {
	return &bodies{most: most, time: time, reading: list.New()}
}

// read reads a body of at most limit bytes within the time for it. The body must be released, error or not.
func (b *bodies) read(w http.ResponseWriter, r *http.Request, limit int) (*body, error) {
	c := http.NewResponseController(w)
	d := &body{all: b, cancel: func() { _ = c.SetReadDeadline(time.Unix(1, 0)) }}
	if r.ContentLength > int64(limit) {
		return d, tooLarge(limit)
	}
	_ = c.SetReadDeadline(time.Now().Add(b.time)) // what cannot have one, such as a test's recorder, is not slow
	b.mu.Lock()
	d.at = b.reading.PushBack(d)
	b.mu.Unlock()
	err := d.readAll(r.Body, int(r.ContentLength), limit)
	b.mu.Lock()
	b.reading.Remove(d.at)
	d.at = nil
	given := d.given
	if err == nil {
		_ = c.SetReadDeadline(time.Time{}) // under mu, so that nobody gives up what has been read
	}
	b.mu.Unlock()
	if err == nil {
		return d, nil
	}
	var timeout interface{ Timeout() bool }
	var p *Problem
	switch {
	case errors.As(err, &p):
	case given, errors.As(err, &timeout) && timeout.Timeout():
		p = problem(http.StatusRequestTimeout, codeSlow, fmt.Sprintf("the body did not come in time; send it whole within %v", b.time))
	default:
		p = problem(http.StatusBadRequest, codeIncomplete, "the body broke off, or its chunks are malformed")
	}
	p.close = true
	return d, p
}

// readAll reads to the end, growing as bytes come, not as they are announced.
func (d *body) readAll(in io.Reader, announced, limit int) error {
	size := 4 << 10
	if announced >= 0 {
		size = min(size, announced+1)
	}
	for {
		if len(d.text) == cap(d.text) {
			if err := d.grow(max(size, 2*cap(d.text))); err != nil {
				return err
			}
		}
		n, err := in.Read(d.text[len(d.text):cap(d.text)])
		d.text = d.text[:len(d.text)+n]
		if len(d.text) > limit {
			return tooLarge(limit)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// grow gives the body room for size bytes, at the cost of the oldest that is being read where there is none.
func (d *body) grow(size int) error {
	b := d.all
	b.mu.Lock()
	more := size - d.held
	for at := b.reading.Front(); b.held+more > b.most && at != nil; at = at.Next() {
		oldest := at.Value.(*body)
		if oldest == d {
			break
		}
		if !oldest.given {
			oldest.given = true
			oldest.cancel()
			b.held -= oldest.held // it will be gone at once
			oldest.held = 0
		}
	}
	if d.given || b.held+more > b.most {
		b.mu.Unlock()
		p := overloaded(time.Second)
		p.Detail = "too many bodies are on their way; try again after the time in Retry-After"
		return p
	}
	b.held += more
	d.held = size
	b.mu.Unlock()
	text := make([]byte, len(d.text), size)
	copy(text, d.text)
	d.text = text
	return nil
}

// release gives the memory back.
func (d *body) release() {
	d.all.mu.Lock()
	defer d.all.mu.Unlock()
	d.all.held -= d.held
	d.held = 0
}

func tooLarge(limit int) *Problem {
	p := problem(http.StatusRequestEntityTooLarge, codeTooLarge, fmt.Sprintf("the body has more than %d bytes; nothing that is accepted needs more", limit))
	if limit == 0 {
		p.Detail = "this call takes no body"
	}
	p.close = true
	return p
}

// checkBody refuses what is not JSON as it is, by what the headers say.
func checkBody(r *http.Request) *Problem {
	for _, coding := range r.Header.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(coding), "identity") && coding != "" {
			p := problem(http.StatusUnsupportedMediaType, codeEncoding, "the body is compressed; send it as it is, without Content-Encoding")
			p.close = true
			return p
		}
	}
	if r.ContentLength == 0 && r.Header.Get("Content-Length") == "" && len(r.TransferEncoding) == 0 {
		return problem(http.StatusLengthRequired, codeLength, "a JSON body is needed; send Content-Length with it, or chunks")
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || kind != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		p := problem(http.StatusUnsupportedMediaType, codeMediaType, fmt.Sprintf("Content-Type is %.60q; send application/json, in UTF-8", r.Header.Get("Content-Type")))
		p.close = true
		return p
	}
	return nil
}

// Read gives what was read of a body, to those who take it from the request.
func (d *body) Read(p []byte) (int, error) {
	if d.read == len(d.text) {
		return 0, io.EOF
	}
	n := copy(p, d.text[d.read:])
	d.read += n
	return n, nil
}

// Close is for http.Request.Body.
func (d *body) Close() error { return nil }
