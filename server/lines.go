package server

import (
	"net/http"
	"sync"
	"time"
)

// refusalLines is how many refusals are logged in a second, one line each. Under overload there are thousands, which all say the
// same and take the time of work that could be done; metrics count every one.
const refusalLines = 100

// lines decides which refusals are logged.
type lines struct {
	mu      sync.Mutex // guards what follows
	second  time.Time  // when the present second began
	written int        // in it
	left    int64      // refusals left out since the last line
}

// shed tells whether a status is a refusal of work, of which there may be any number: 429 and 503.
func shed(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// take tells whether a refusal at the time now is logged, and then how many before it were not.
func (l *lines) take(now time.Time) (left int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.second) >= time.Second {
		l.second, l.written = now, 0
	}
	if l.written == refusalLines {
		l.left++
		return 0, false
	}
	l.written++
	left, l.left = l.left, 0
	return left, true
}
