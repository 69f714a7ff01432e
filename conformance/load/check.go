package load

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun"
	"example.com/cardrun/conformance"
	"example.com/cardrun/limits"
)

// checker holds answers against cases. The same answer to the same question is looked at once: with the figures that
// differ from run to run taken out, most answers of a run are the same.
type checker struct {
	seed maphash.Seed
	mu   sync.Mutex
	seen map[checkKey]verdict
}

type checkKey struct {
	item *item
	step int // 0 is the start
	hash uint64
}

// verdict is what a Snapshot is worth: what is wrong with it, and what the player has to know of it.
type verdict struct {
	found   []conformance.Mismatch
	outcome cardrun.Outcome
}

// maxSeen bounds what is remembered, for cards whose every answer differs.
const maxSeen = 20_000

func newChecker() *checker {
	return &checker{seed: maphash.MakeSeed(), seen: make(map[checkKey]verdict)}
}

// check holds the text of a Snapshot against what the case expects at that step. The error is of a text that is no Snapshot.
func (c *checker) check(it *item, step int, text []byte) (verdict, error) {
	k := checkKey{item: it, step: step, hash: c.hash(text)}
	c.mu.Lock()
	v, ok := c.seen[k]
	c.mu.Unlock()
	if ok {
		return v, nil
	}
	s := new(cardrun.Snapshot)
	if err := json.Unmarshal(text, s, json.RejectUnknownMembers(true)); err != nil {
		return v, fmt.Errorf("read Snapshot: %w", err)
	}
	switch s.Outcome {
	case cardrun.Ready, cardrun.Failed, cardrun.Rejected:
	default:
		return v, fmt.Errorf("read Snapshot: the outcome is %.40q", s.Outcome)
	}
	expect := &it.c.Expect
	if step > 0 {
		expect = &it.c.Steps[step-1].Expect
	}
	v = verdict{found: expect.Check(s), outcome: s.Outcome}
	for i := range v.found {
		v.found[i].Step = step
	}
	c.mu.Lock()
	if len(c.seen) < maxSeen {
		c.seen[k] = v
	}
	c.mu.Unlock()
	return v, nil
}

// hash is that of a Snapshot's text without the digits of elapsed_us. A member's name with its quotes stands nowhere else in
// a JSON text: inside a string the quotes are escaped.
func (c *checker) hash(text []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	name := []byte(`"elapsed_us":`)
	for {
		at := bytes.Index(text, name)
		if at < 0 {
			_, _ = h.Write(text)
			return h.Sum64()
		}
		at += len(name)
		_, _ = h.Write(text[:at])
		for text = text[at:]; len(text) > 0 && text[0] >= '0' && text[0] <= '9'; text = text[1:] {
		}
	}
}

// opened takes apart what POST /v1/sessions answered.
func opened(body []byte) (session string, snapshot []byte, err error) {
	var o struct {
		Session  string         `json:"session"`
		Snapshot jsontext.Value `json:"snapshot"`
	}
	if err := json.Unmarshal(body, &o, json.RejectUnknownMembers(true)); err != nil {
		return "", nil, fmt.Errorf("read session: %w", err)
	}
	if len(o.Session) < 22 { // 128 bits
		return "", nil, fmt.Errorf("read session: its id has %d characters, too few for 128 bits", len(o.Session))
	}
	for _, r := range o.Session {
		if r != '-' && r != '_' && r != '.' && r != '~' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return "", nil, errors.New("read session: its id has characters that a path does not")
		}
	}
	return o.Session, o.Snapshot, nil
}

// problem tells of an answer that says what was wrong with the request (RFC 9457).
func (a answer) problem() bool { return strings.HasPrefix(a.mediaType, "application/problem+json") }

// fault is what of a problem's members matters here.
type fault struct {
	Code limits.Code `json:"code"`
	// Snapshot is that of a card that was rejected.
	Snapshot jsontext.Value `json:"snapshot"`
}

// fault reads a problem; what is none is empty.
func (a answer) fault() (f fault) {
	_ = json.Unmarshal(a.body, &f) // what cannot be read has no code
	return f
}
