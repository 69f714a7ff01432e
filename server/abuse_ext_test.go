package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/cardrun/server"
)

// TestAbuse does to a service what nobody should, each of it from many connections at once, and asks it meanwhile for
// ordinary work, which must be answered within a second. It is looked at with room: twice that.
func TestAbuse(t *testing.T) {
	v := listen(t, server.Options{Local: true, BodyTime: time.Second, MaxConnections: 300, ClientHeader: "X-User"})
	head := "POST /v1/render HTTP/1.1\r\nHost: localhost\r\nX-User: bad\r\nContent-Type: application/json\r\n"
	raw := func(write func(c net.Conn)) func(context.Context) {
		return func(ctx context.Context) {
			c, err := net.Dial("tcp", v.addr)
			if err != nil {
				return // no more of them: which is as good
			}
			defer c.Close()
			defer context.AfterFunc(ctx, func() { _ = c.Close() })()
			write(c)
		}
	}
	slowly := func(text string, every time.Duration) func(context.Context) {
		return raw(func(c net.Conn) {
			for n := range len(text) {
				if _, err := io.WriteString(c, text[n:n+1]); err != nil {
					return
				}
				time.Sleep(every)
			}
		})
	}
	whole := func(text string) func(context.Context) {
		return raw(func(c net.Conn) {
			_, _ = io.WriteString(c, text)
			_ = c.SetReadDeadline(time.Now().Add(3 * time.Second))
			_, _ = io.Copy(io.Discard, c)
		})
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 64<<20))
	_ = z.Close()
	body := func(text string) string { return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(text), text) }
	attacks := map[string]func(context.Context){
		"slow headers": slowly("GET /healthz HTTP/1.1\r\nX-Long: "+strings.Repeat("x", 1000), 50*time.Millisecond),
		"no headers":   raw(func(net.Conn) { time.Sleep(2 * time.Second) }),
		"slow body": raw(func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Content-Length: 200000\r\n\r\n{")
			time.Sleep(2 * time.Second)
		}),
		"one-byte bodies": slowly(body(counting), 5*time.Millisecond),
		"one-byte chunks": raw(func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\n")
			for range 2000 {
				if _, err := io.WriteString(c, "1\r\n \r\n"); err != nil {
					return
				}
			}
		}),
		"endless chunks": raw(func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Transfer-Encoding: chunked\r\n\r\n")
			chunk := "10000\r\n" + strings.Repeat(" ", 0x10000) + "\r\n"
			for range 1000 {
				if _, err := io.WriteString(c, chunk); err != nil {
					return
				}
			}
		}),
		"oversize":         whole(body(strings.Repeat("x", 1<<20))),
		"a lying length":   whole(head + "Content-Length: 9223372036854775807\r\n\r\n{"),
		"a negative one":   whole(head + "Content-Length: -1\r\n\r\n{"),
		"two lengths":      whole(head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}"),
		"length and chunk": whole(head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
		"a gzip bomb":      whole(fmt.Sprintf("%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", head, bomb.Len(), bomb.String())),
		"deep JSON":        whole(body(strings.Repeat("[", 200_000))),
		"deep objects":     whole(body(strings.Repeat(`{"a":`, 40_000))),
		"duplicate JSON":   whole(body("{" + strings.Repeat(`"html":"",`, 20_000) + `"css":""}`)),
		"many members": func(ctx context.Context) {
			var b strings.Builder
			for n := range 15_000 {
				fmt.Fprintf(&b, `"a%d":1,`, n)
			}
			whole(body("{" + b.String() + `"css":""}`))(ctx)
		},
		"pipelining":     whole(strings.Repeat(body(counting), 50)),
		"smuggled bytes": whole(body(counting) + "\x00\xff\r\n\r\nGET / HTTP/9.9\r\n\r\n"),
		"rapid resets":   raw(func(c net.Conn) { _, _ = io.WriteString(c, body(cardOf(spin))); _ = c.(*net.TCPConn).SetLinger(0) }),
		"long headers":   whole("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n"),
		"many headers":   whole("GET / HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X: y\r\n", 50_000) + "\r\n"),
		"no HTTP":        whole(strings.Repeat("\x16\x03\x01\x02\x00", 2000)),
		"HTTP/2":         whole("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + strings.Repeat("\x00\x00\x00\x04\x00\x00\x00\x00\x00", 100)),
		"deaf": raw(func(c net.Conn) {
			_, _ = io.WriteString(c, strings.Repeat(body(counting), 20))
			time.Sleep(time.Second)
		}),
		"hostile cards":    whole(body(cardOf(spin))),
		"cards of garbage": whole(body(cardOf(strings.Repeat("(", 11_000)))),
	}
	const together = 20
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			v := *v
			v.t = t
			ctx, cancel := context.WithCancel(context.Background())
			var all sync.WaitGroup
			for range together {
				all.Go(func() { attack(ctx) })
			}
			slowest := time.Duration(0)
			for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				began := time.Now()
				v.expect(v.call("POST", "/v1/render", counting, "X-User", "good"), 200, "")
				slowest = max(slowest, time.Since(began))
			}
			t.Logf("the slowest ordinary work took %v", slowest)
			if slowest > 2*time.Second {
				t.Errorf("ordinary work took %v", slowest)
			}
			cancel()
			all.Wait()
		})
	}
	t.Run("idle connections", func(t *testing.T) {
		for range 1000 { // of which 300 may be
			c, err := net.Dial("tcp", v.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		}
		v.expect(v.call("POST", "/v1/render", counting), 200, "")
	})
	t.Logf("attacks: %d", len(attacks)*together+1000)
}
