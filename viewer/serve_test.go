//go:build browser

package viewer_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// TestServe opens / of the command itself, and takes the service away and brings it back under the page.
func TestServe(t *testing.T) {
	program := filepath.Join(t.TempDir(), "cardrun")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/cardrun").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := newService(t) // for its tab; its address is not used
	b := openTab(t, s)
	address, stop := serve(t, program, "127.0.0.1:0")
	b.origin = "http://" + address
	b.visit("/")
	b.await(t, ready)
	b.eval(nil, inCard+".getElementById('people').focus()")
	b.keys(kb.ArrowUp)
	b.await(t, "document.querySelector('#rounds > li:first-child summary').textContent.includes('input people')")
	b.await(t, inCard+".getElementById('share').textContent === '$14.16'")
	b.paste(card(t, `<a href="x">x</a>`, "", ""))
	b.await(t, "document.getElementById('outcome').textContent.startsWith('Rejected')")
	b.eval(nil, "(() => { const e = document.getElementById('example'); e.value = 'roller'; e.dispatchEvent(new Event('change')) })()")
	b.await(t, ready+" && document.getElementById('title').textContent === 'Two dice to roll'")

	stop()
	shadow := "document.querySelector('.cardrun-viewer').shadowRoot"
	b.await(t, shadow+".querySelector('[role=status]').textContent.includes('connection is lost')")
	_, stop = serve(t, program, address)
	defer stop()
	b.await(t, shadow+".querySelector('[role=alert]').textContent.includes('session is over')")
	b.eval(nil, shadow+".querySelector('[role=alert] button').click()")
	b.await(t, ready+" && document.querySelectorAll('#rounds > li').length === 1 && "+shadow+".querySelector('[role=alert] .notice').hidden")
	b.eval(nil, inCard+".querySelector('button').focus()")
	b.keys(" ")
	b.await(t, "document.querySelectorAll('#rounds > li').length === 2")
	b.expectQuiet(t, "serve")
}

// serve starts the service and gives its address, and what ends it.
func serve(t *testing.T, program, at string) (address string, stop func()) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "serve", "--addr", at)
	cmd.Stderr = file
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_, _ = cmd.Process.Wait()
		_ = file.Close()
	}
	for range 1000 {
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if _, rest, ok := strings.Cut(string(data), `"msg":"listen","addr":"`); ok {
			address, _, _ = strings.Cut(rest, `"`)
			if r, err := http.Get("http://" + address + "/readyz"); err == nil {
				_ = r.Body.Close()
				if r.StatusCode == http.StatusOK {
					t.Cleanup(stop)
					return address, stop
				}
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	t.Fatal("the service does not start")
	return "", nil
}
