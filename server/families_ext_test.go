package server_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cardrun/server"
)

var familyLine = regexp.MustCompile(`(?m)^# TYPE (cardrun_\S+) `)

// families are the service's own, as its answer announces them.
func (v *service) families() []string {
	v.t.Helper()
	var names []string
	for _, m := range familyLine.FindAllStringSubmatch(string(v.expect(v.call("GET", "/metrics", ""), 200, "").body), -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return names
}

// TestMetricsAllMove drives a service until each value has moved that it gives, and holds the list of them against what it
// announces: one that nobody thought of here is an error, as is one that is gone.
func TestMetricsAllMove(t *testing.T) {
	o := server.Options{
		Local: true, ClientHeader: "X-User", Patience: 100 * time.Millisecond, MaxWaiting: 1,
		MaxSessions: 3, SessionIdle: 2 * time.Second, FreezeAfter: time.Millisecond,
	}
	o.Engine.Workers, o.Engine.RenderCache, o.Engine.ImageCache = 1, 1<<20, 1<<20
	v := listen(t, o)
	type value struct{ family, labels string }
	moved := make(map[string]bool)
	move := func(values ...value) {
		t.Helper()
		for _, c := range values {
			within(t, fmt.Sprint(c), func() bool { return v.metric(c.family+"(?:_count)?", c.labels) > 0 }) // that of a histogram
			moved[c.family] = true
		}
	}
	move(value{"cardrun_ready", ""}, value{"cardrun_workers", ""}, value{"cardrun_connections", ""})

	v.expect(v.call("POST", "/v1/render", counting), 200, "")
	v.expect(v.call("POST", "/v1/render", counting), 200, "")
	v.expect(v.call("POST", "/v1/render", cardOf(`null.x`)), 200, "")
	move(value{"cardrun_requests_total", `route="/v1/render"`}, value{"cardrun_request_seconds", ""},
		value{"cardrun_rounds_total", `outcome="ok"`}, value{"cardrun_rounds_total", `outcome="cached"`},
		value{"cardrun_rounds_total", `outcome="exception"`}, value{"cardrun_guest_seconds", ""}, value{"cardrun_queue_seconds", ""},
		value{"cardrun_sanitizer_seconds", ""}, value{"cardrun_cache_hits_total", `cache="render"`},
		value{"cardrun_cache_misses_total", `cache="render"`}, value{"cardrun_cache_bytes", `cache="render"`})

	first := v.open(counting)
	move(value{"cardrun_sessions", `state="frozen"`}, value{"cardrun_session_bytes", ""}, value{"cardrun_cache_misses_total", `cache="image"`})
	stream, cancel := v.follow(first, "")
	next(t, stream, "round", "1.0")
	move(value{"cardrun_streams", ""})
	cancel()
	within(t, "the stream is counted out", func() bool { return v.metric("cardrun_streams", "") == 0 })
	v.expect(v.call("DELETE", "/v1/sessions/"+first, ""), 204, "")
	for range 4 {
		v.open(counting)
	}
	move(value{"cardrun_sessions_ended_total", `reason="closed"`}, value{"cardrun_sessions_ended_total", `reason="memory"`},
		value{"cardrun_cache_hits_total", `cache="image"`}, value{"cardrun_sessions_ended_total", `reason="idle"`})

	ctx, stop := context.WithCancel(context.Background())
	var hostile sync.WaitGroup
	for n := range 6 {
		hostile.Go(func() {
			for ctx.Err() == nil {
				_, _ = v.try(ctx, "POST", "/v1/render", cardOf(spin), "X-User", fmt.Sprint(n/2))
			}
		})
	}
	move(value{"cardrun_workers_busy", ""}, value{"cardrun_queue_length", ""}, value{"cardrun_shed_total", `reason="wait"`},
		value{"cardrun_shed_total", `reason="queue"`}, value{"cardrun_shed_total", `reason="backlog"`},
		value{"cardrun_rounds_total", `outcome="timeout"`}, value{"cardrun_guests_replaced_total", `reason="stopped"`})
	stop()
	hostile.Wait()
	within(t, "nothing is busy any more", func() bool {
		return v.metric("cardrun_workers_busy", "") == 0 && v.metric("cardrun_queue_length", "") == 0
	})
	if diff := cmp.Diff(slices.Sorted(maps.Keys(moved)), v.families()); diff != "" {
		t.Errorf("(-moved here +announced)\n%s", diff)
	}

	limited := listen(t, server.Options{Local: true, Rate: 1, ClientHeader: "X-User"})
	for range 20 {
		limited.call("POST", "/v1/check", counting, "X-User", "many")
	}
	if n := limited.metric("cardrun_shed_total", `reason="rate"`); n < 1 {
		t.Errorf("%v requests were refused for their rate", n)
	}
}
