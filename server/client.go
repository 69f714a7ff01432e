package server

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// client is who sends a request, as far as limits and fairness go.
type client struct {
	name  string // never a secret: it is logged
	bound bool   // the limits that hold for strangers by default hold for it
}

// minToken is the fewest characters of a token: 128 bits in base64.
const minToken = 22

// ParseTokens reads the tokens of a token file: one a line, at least 22 characters of those that a header may carry; empty
// lines and lines that begin with # are passed over.
func ParseTokens(text []byte) ([]string, error) {
	var tokens []string
	n := 0
	for line := range bytes.Lines(text) {
		n++
		token := strings.TrimSpace(string(line))
		if token == "" || token[0] == '#' {
			continue
		}
		if len(token) < minToken {
			return nil, fmt.Errorf("line %d: a token has %d characters; give at least %d, random ones", n, len(token), minToken)
		}
		if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, fmt.Errorf("line %d: a token may have visible ASCII characters only", n)
		}
		tokens = append(tokens, token)
	}
	if len(tokens) == 0 {
		return nil, errors.New("there is no token in it; write one a line")
	}
	return tokens, nil
}

// tokens compares in constant time: digests, all of them.
type tokens [][sha256.Size]byte

func newTokens(texts []string) tokens {
	var t tokens
	for _, text := range texts {
		t = append(t, sha256.Sum256([]byte(text)))
	}
	return t
}

// find gives the number of the token that a request bears, from 1, or 0.
func (t tokens) find(r *http.Request) int {
	scheme, text, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || len(r.Header["Authorization"]) != 1 {
		return 0
	}
	sum, found := sha256.Sum256([]byte(strings.TrimSpace(text))), 0
	for n := range t {
		found |= subtle.ConstantTimeCompare(sum[:], t[n][:]) * (n + 1)
	}
	return found
}

// identify tells who sends a request. Behind a trusted proxy it is the nearest address that is none; a token is one client,
// or as many as its bearer tells apart.
func (s *Server) identify(r *http.Request, token int) client {
	peer, remote := s.address(r)
	c := client{name: "ip:" + block(remote), bound: !remote.IsLoopback()}
	if token > 0 {
		c = client{name: "token:" + strconv.Itoa(token)}
	}
	if s.o.ClientHeader != "" && (token > 0 || peer.IsLoopback() || s.trusts(peer)) {
		if v := r.Header.Get(s.o.ClientHeader); v != "" {
			sum := sha256.Sum256([]byte(v)) // whatever they are called, it is not to be in a log
			c.name += "/" + hex.EncodeToString(sum[:6])
		}
	}
	return c
}

// address gives the peer of the connection, and the address that the request comes from.
func (s *Server) address(r *http.Request) (peer, remote netip.Addr) {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return peer, remote // as of a Unix socket: one client
	}
	peer = at.Addr().Unmap()
	remote = peer
	if !s.trusts(peer) {
		return peer, remote
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for n := len(hops) - 1; n >= 0; n-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[n]))
		if err != nil {
			break // what stands before it is no better
		}
		if remote = hop.Unmap(); !s.trusts(remote) {
			break
		}
	}
	return peer, remote
}

func (s *Server) trusts(a netip.Addr) bool {
	for _, p := range s.o.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// block is what counts as one client's: of IPv6 the 64 bits that one has at home.
func block(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// rates bounds how many requests a second each client may send.
type rates struct {
	rate float64 // a second; see Options.Rate

	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	tokens float64
	at     time.Time
}

const (
	strangerRate = 100 // a second, of clients that are neither local nor known by a token
	mostBuckets  = 1 << 16
)

func newRates(rate float64) *rates { return &rates{rate: rate, buckets: make(map[string]*bucket)} }

// take takes a request into account, or refuses it.
func (r *rates) take(c client) *Problem {
	rate := r.rate
	if rate == 0 && c.bound {
		rate = strangerRate
	}
	if rate <= 0 {
		return nil
	}
	burst := max(2*rate, 1)
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[c.name]
	if b == nil {
		if len(r.buckets) >= mostBuckets {
			r.forget(now, rate, burst)
		}
		b = &bucket{tokens: burst, at: now}
		r.buckets[c.name] = b
	}
	b.tokens, b.at = min(burst, b.tokens+now.Sub(b.at).Seconds()*rate), now
	if b.tokens < 1 {
		p := problem(http.StatusTooManyRequests, codeRate, fmt.Sprintf("more than %g requests a second; wait for the time in Retry-After", rate))
		p.retry = time.Duration((1 - b.tokens) / rate * float64(time.Second))
		return p
	}
	b.tokens--
	return nil
}

// forget drops the buckets that are full again, and all where there are none of those. The caller holds mu.
func (r *rates) forget(now time.Time, rate, burst float64) {
	for name, b := range r.buckets {
		if b.tokens+now.Sub(b.at).Seconds()*rate >= burst {
			delete(r.buckets, name)
		}
	}
	if len(r.buckets) >= mostBuckets {
		clear(r.buckets)
	}
}
