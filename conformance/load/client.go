package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// client is one caller of the service, with connections of its own. It writes requests that are ready as bytes and reads
// answers with net/http, which takes a third of the time of an http.Client: on a machine that it shares with the service, what
// the generator takes is missing there.
type client struct {
	dial    func(context.Context) (net.Conn, error)
	timeout time.Duration

	mu   sync.Mutex
	idle []*conn // the latest used last
	over bool    // no connection is to be kept any more
}

type conn struct {
	net.Conn
	r    *bufio.Reader
	used time.Time
	old  bool // it has answered before
}

// answer is what the service said.
type answer struct {
	status     int
	mediaType  string
	retryAfter string
	body       []byte
}

const (
	maxAnswer = 32 << 20 // a session of thousands of rounds
	// keepIdle is how long a connection is used again: less than what servers commonly wait.
	keepIdle = 4 * time.Second
)

// newClient makes caller number n. On a loopback address each has an address of its own, 127.0.0.n, where the system lets it:
// services tell callers apart by address.
func newClient(target *url.URL, n int, timeout time.Duration) (*client, error) {
	host, port := target.Hostname(), target.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[target.Scheme]
	}
	address := net.JoinHostPort(host, port)
	d := &net.Dialer{Timeout: timeout}
	if ip := net.ParseIP(host); ip != nil && ip.To4() != nil && ip.IsLoopback() && n > 0 {
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, byte(n>>8), byte(n))}
		probe, err := d.Dial("tcp", address)
		if err != nil {
			d.LocalAddr = nil
		} else {
			_ = probe.Close()
		}
	}
	c := &client{timeout: timeout}
	switch target.Scheme {
	case "http":
		c.dial = func(ctx context.Context) (net.Conn, error) { return d.DialContext(ctx, "tcp", address) }
	case "https":
		t := &tls.Dialer{NetDialer: d, Config: &tls.Config{ServerName: host, NextProtos: []string{"http/1.1"}}}
		c.dial = func(ctx context.Context) (net.Conn, error) { return t.DialContext(ctx, "tcp", address) }
	default:
		return nil, fmt.Errorf("the URL's scheme is %q; use http or https", target.Scheme)
	}
	return c, nil
}

// do sends a request and reads the answer. On a connection that was used before and turns out to be closed, it is sent once
// more on a new one: the service had given it up before the request came.
func (c *client) do(ctx context.Context, request []byte) (answer, error) {
	for {
		k, err := c.take(ctx)
		if err != nil {
			return answer{}, err
		}
		a, keep, err := c.ask(ctx, k, request)
		if keep && err == nil {
			c.put(k)
			return a, nil
		}
		_ = k.Close()
		if err == nil || !k.old || !errors.Is(err, errUnheard) || ctx.Err() != nil {
			return a, err
		}
		c.drop() // those that are as old will be closed too
	}
}

// errUnheard says that the connection ended before the first byte of an answer.
var errUnheard = errors.New("the connection was closed without an answer")

func (c *client) ask(ctx context.Context, k *conn, request []byte) (a answer, keep bool, err error) {
	stop := context.AfterFunc(ctx, func() { _ = k.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := k.SetDeadline(time.Now().Add(c.timeout)); err != nil {
		return a, false, err
	}
	_, wrote := k.Write(request) // an answer may be there all the same: a refusal that did not wait for the body
	if _, err := k.r.Peek(1); err != nil {
		var slow net.Error
		if errors.As(err, &slow) && slow.Timeout() {
			return a, false, fmt.Errorf("no answer within %s", c.timeout)
		}
		return a, false, errors.Join(errUnheard, wrote)
	}
	res, err := http.ReadResponse(k.r, nil)
	if err != nil {
		return a, false, fmt.Errorf("read answer: %w", err)
	}
	a = answer{status: res.StatusCode, mediaType: res.Header.Get("Content-Type"), retryAfter: res.Header.Get("Retry-After")}
	if n := res.ContentLength; n > 0 && n <= maxAnswer {
		a.body = make([]byte, n)
		_, err = io.ReadFull(res.Body, a.body)
	} else {
		var b bytes.Buffer
		_, err = b.ReadFrom(io.LimitReader(res.Body, maxAnswer+1))
		a.body = b.Bytes()
	}
	switch {
	case err != nil:
		return a, false, fmt.Errorf("read answer: %w", err)
	case len(a.body) > maxAnswer:
		return a, false, fmt.Errorf("read answer: more than %d bytes", maxAnswer)
	}
	return a, !res.Close && wrote == nil, nil
}

func (c *client) take(ctx context.Context) (*conn, error) {
	c.mu.Lock()
	for n := len(c.idle); n > 0; n = len(c.idle) {
		k := c.idle[n-1]
		c.idle = c.idle[:n-1]
		if time.Since(k.used) < keepIdle {
			c.mu.Unlock()
			return k, nil
		}
		_ = k.Close()
	}
	c.mu.Unlock()
	nc, err := c.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &conn{Conn: nc, r: bufio.NewReaderSize(nc, 16<<10)}, nil
}

func (c *client) put(k *conn) {
	k.used, k.old = time.Now(), true
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		_ = k.Close()
		return
	}
	c.idle = append(c.idle, k)
}

// drop closes the connections at rest.
func (c *client) drop() {
	c.mu.Lock()
	idle := c.idle
	c.idle = nil
	c.mu.Unlock()
	for _, k := range idle {
		_ = k.Close()
	}
}

func (c *client) close() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.drop()
}

// requests writes requests to one service.
type requests struct {
	prefix string // of the path, from the URL
	head   string // the headers that all have
}

func newRequests(target *url.URL, token string) (requests, error) {
	for _, r := range token {
		if r <= ' ' || r > '~' {
			return requests{}, fmt.Errorf("the token has the character %q; it may hold visible ASCII alone", r)
		}
	}
	r := requests{prefix: target.EscapedPath(), head: "Host: " + target.Host + "\r\nUser-Agent: cardrun-load\r\nAccept: application/json\r\n"}
	for len(r.prefix) > 0 && r.prefix[len(r.prefix)-1] == '/' {
		r.prefix = r.prefix[:len(r.prefix)-1]
	}
	if token != "" {
		r.head += "Authorization: Bearer " + token + "\r\n"
	}
	return r, nil
}

// post, get and del give whole requests. path is one that needs no escapes.
func (r requests) post(path string, body []byte) []byte {
	b := make([]byte, 0, 256+len(r.head)+len(body))
	b = append(b, "POST "+r.prefix+path+" HTTP/1.1\r\n"+r.head+"Content-Type: application/json\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(body)), 10)
	return append(append(b, "\r\n\r\n"...), body...)
}

func (r requests) get(path string) []byte {
	return []byte("GET " + r.prefix + path + " HTTP/1.1\r\n" + r.head + "\r\n")
}

func (r requests) del(path string) []byte {
	return []byte("DELETE " + r.prefix + path + " HTTP/1.1\r\n" + r.head + "\r\n")
}
