package server_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/cardrun/server"
)

// TestOverloadHostileShare sends the same honest work twice over real connections and through real workers: alone, and with
// one request in five being a card of another client that takes all of its 250 ms, which is more than two workers can do. No
// honest request is refused, and what it waits for is a round of the other's at the most.
func TestOverloadHostileShare(t *testing.T) {
	v := listen(t, server.Options{Local: true, ClientHeader: "X-User"})
	const rate, seconds = 50, 4
	run := func(hostileShare int) (took []time.Duration, hostile, refused int) {
		var mu sync.Mutex
		var all sync.WaitGroup
		tick := time.NewTicker(time.Second / rate)
		defer tick.Stop()
		for n := range rate * seconds {
			bad := hostileShare > 0 && n%hostileShare == 0
			all.Go(func() {
				card, user := counting, fmt.Sprint("honest", n%4)
				if bad {
					card, user = cardOf(spin), "hostile"
				}
				began := time.Now()
				a, err := v.try(context.Background(), "POST", "/v1/render", card, "X-User", user)
				since := time.Since(began)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					t.Errorf("%s: %v", user, err)
				case bad && a.status == 503:
					refused++
				case bad:
					hostile++
				case a.status != 200:
					t.Errorf("honest work was answered with %d: %.200s", a.status, a.body)
				default:
					took = append(took, since)
				}
			})
			<-tick.C
		}
		all.Wait()
		slices.Sort(took)
		return took, hostile, refused
	}
	at := func(took []time.Duration, part int) time.Duration { return took[len(took)*part/100] }
	alone, _, _ := run(0)
	among, hostile, refused := run(5)
	t.Logf("honest work alone: median %v, p99 %v; with hostile work: median %v, p99 %v, longest %v; hostile: %d ran, %d were refused",
		at(alone, 50), at(alone, 99), at(among, 50), at(among, 99), among[len(among)-1], hostile, refused)
	if len(among) != rate*seconds*4/5 || hostile == 0 {
		t.Errorf("%d honest and %d hostile requests were answered", len(among), hostile)
	}
	if at(among, 50) > 500*time.Millisecond || among[len(among)-1] > 3*time.Second {
		t.Errorf("honest work took %v (median), %v (longest)", at(among, 50), among[len(among)-1])
	}
}
