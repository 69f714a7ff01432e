//go:build browser

package chromium

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"
)

// Find gives the path of a browser, or "": CARDRUN_CHROMIUM, or what distributions call it.
func Find() string {
	for _, name := range []string{os.Getenv("CARDRUN_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Start starts a browser with one tab, and gives the context of the tab. watch hears all events of the tab from its start on. No
// name is resolved in the browser but 127.0.0.1. Without a browser the test is skipped, loudly. The browser ends with the test.
func Start(t testing.TB, watch func(event any)) context.Context {
	t.Helper()
	path := Find()
	if path == "" {
		t.Skip("SKIPPED, NOTHING IS PROVED: there is no Chromium here; install it, or name it in CARDRUN_CHROMIUM")
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.Headless, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.DisableGPU,
		chromedp.WindowSize(1000, 800),
	}
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses to start as root otherwise
	}
	for _, flag := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-extensions",
		"disable-default-apps", "disable-dev-shm-usage", "disable-background-timer-throttling", "disable-renderer-backgrounding", "mute-audio"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	options = append(options, chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx, chromedp.WithListener(watch))
	t.Cleanup(closeTab)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("close browser: %v", err)
		}
	})
	if err := chromedp.Do(ctx); err != nil { // the browser lives as long as the context of its first call
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}
