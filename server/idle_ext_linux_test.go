package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/cardrun/server"
)

// TestAbuseIdleConnections keeps as many connections as the limit on descriptors allows, 10,000 at the most, each of which has
// asked once and then keeps silent. All of them stay, ordinary work is done beside them, and with their end they are gone.
func TestAbuseIdleConnections(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	most := min(10_000, (int(min(limit.Cur, 1<<20))-500)/2) // both ends are in this process
	if most < 100 {
		t.Skipf("NOT RUN: %d descriptors are too few", limit.Cur)
	}
	v := listen(t, server.Options{Local: true, MaxConnections: most + 100})
	silent := make([]net.Conn, most)
	defer func() {
		for _, c := range silent {
			if c != nil {
				_ = c.Close()
			}
		}
	}()
	var all sync.WaitGroup
	const at = 50
	for k := range at {
		all.Go(func() {
			for n := k; n < most; n += at {
				c, err := net.Dial("tcp", v.addr)
				if err != nil {
					t.Error(err)
					return
				}
				silent[n] = c
				if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
					t.Error(err)
					return
				}
				_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
				res, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil || res.StatusCode != 200 {
					t.Errorf("connection %d: %v", n, err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	if n := v.metric("cardrun_connections", ""); n < float64(most) {
		t.Errorf("%v of %d connections are left", n, most)
	}
	slowest := time.Duration(0)
	for range 20 {
		began := time.Now()
		v.expect(v.call("POST", "/v1/render", counting), 200, "")
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("beside %d silent connections the slowest of 20 renders took %v", most, slowest)
	if slowest > 2*time.Second {
		t.Errorf("ordinary work took %v", slowest)
	}
	for n, c := range silent {
		_ = c.Close()
		silent[n] = nil
	}
	within(t, "they are gone", func() bool { return v.metric("cardrun_connections", "") < 50 })
	t.Logf("attacks: %d", most)
}
