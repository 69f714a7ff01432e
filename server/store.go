package server

import (
	"container/list"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
	"time"

	"example.com/cardrun"
)

// sessions holds the sessions, by a digest of their ids: an id is a secret, which is compared with nothing and stands
// nowhere but in its owner's hands.
//
// Past a ceiling of bytes or of sessions, those least recently used end, first of clients that hold more than an equal
// share. Of a session that ended a mark is kept, so that its owner hears what became of it.
type sessions struct {
	o storeOptions

	mu      sync.Mutex
	byKey   map[key]*entry
	used    *list.List // of *entry, least recently used first
	bytes   int
	holders map[string]*holder
	marks   map[key]ending // of the last mostMarks that ended
	ring    []key          // in the order in which they ended
	next    int            // in ring
	ended   [endings]int64 // counts
	closed  bool
}

type storeOptions struct {
	ceiling   int           // bytes
	most      int           // sessions
	perClient int           // sessions of one client; see Options.ClientSessions
	idle      time.Duration // after which one expires
}

// key is the first half of the SHA-256 of an id.
type key [16]byte

func keyOf(id string) key {
	sum := sha256.Sum256([]byte(id))
	return key(sum[:16])
}

// entry is a session in the store.
type entry struct {
	key    key
	live   *cardrun.Session
	client string
	at     *list.Element
	last   time.Time
	size   int
	cold   bool          // size is that of the frozen session
	pins   int           // requests that use it now
	ending ending        // why it was closed, once it is
	stream int           // streams that follow it
	turn   chan struct{} // one place: calls of tools on a session go one at a time
}

type holder struct{ sessions, bytes int }

// ending is why a session ended.
type ending uint8

const (
	alive ending = iota
	endedIdle
	endedMemory // it had to make room
	endedByOwner
	endedByService
	endings
)

func (e ending) String() string {
	return [...]string{"alive", "idle", "memory", "closed", "shutdown"}[e]
}

const (
	mostMarks        = 1 << 16
	strangerSessions = 1000 // of a client that is neither local nor known by a token
	idBytes          = 24   // 192 bits
)

func newSessions(o storeOptions) *sessions {
	return &sessions{o: o, byKey: make(map[key]*entry), used: list.New(), holders: make(map[string]*holder), marks: make(map[key]ending)}
}

// room tells whether a client may have one more session.
func (s *sessions) room(c client) *Problem {
	most := s.o.perClient
	if most == 0 && c.bound {
		most = strangerSessions
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.holders[c.name]; most > 0 && h != nil && h.sessions >= most {
		p := problem(http.StatusTooManyRequests, codeSessions, fmt.Sprintf("%d sessions are open; delete some, or wait until they expire", h.sessions))
		p.retry = 10 * time.Second
		return p
	}
	return nil
}

// add takes a session in and gives its id, and the entry, which is to be put back.
func (s *sessions) add(live *cardrun.Session, c client) (id string, e *entry) {
	raw := make([]byte, idBytes)
	_, _ = rand.Read(raw) // never fails
	id = base64.RawURLEncoding.EncodeToString(raw)
	e = &entry{key: keyOf(id), live: live, client: c.name, last: time.Now(), pins: 1, turn: make(chan struct{}, 1)}
	s.mu.Lock()
	h := s.holders[e.client]
	if h == nil {
		h = &holder{}
		s.holders[e.client] = h
	}
	h.sessions++
	e.at = s.used.PushBack(e)
	s.byKey[e.key] = e
	late := s.closed
	if late { // it came in while the service ended
		s.end(e, endedByService)
	}
	s.mu.Unlock()
	if late {
		live.Close()
	}
	return id, e
}

// take finds a session for a request, which must put it back. The error says what became of it.
func (s *sessions) take(id string) (*entry, error) {
	k := keyOf(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.byKey[k]; e != nil {
		e.pins++
		e.last = time.Now()
		s.used.MoveToBack(e.at)
		return e, nil
	}
	switch s.marks[k] {
	case alive:
		return nil, problem(http.StatusNotFound, codeUnknown, "there is no session with this id")
	case endedByOwner:
		return nil, problem(http.StatusGone, codeClosed, "the session was deleted; open a new one")
	case endedIdle:
		return nil, problem(http.StatusGone, codeExpired, fmt.Sprintf("the session was not used for %v and expired; open a new one", s.o.idle))
	}
	return nil, problem(http.StatusGone, codeExpired, "the session had to make room for others that were used later; open a new one")
}

// put ends a request's use of a session, and makes room where it has grown.
func (s *sessions) put(e *entry) {
	size := e.live.Size()
	s.mu.Lock()
	e.pins--
	e.last = time.Now()
	var victims []*entry
	if e.ending == alive {
		s.used.MoveToBack(e.at)
		s.resize(e, size)
		e.cold = false
		victims = s.makeRoom()
	}
	s.mu.Unlock()
	closeAll(victims)
}

// resize takes note of a size. The caller holds mu.
func (s *sessions) resize(e *entry, size int) {
	s.bytes += size - e.size
	s.holders[e.client].bytes += size - e.size
	e.size = size
}

// makeRoom ends sessions until what is left is well below the ceilings, and gives them to be closed. The caller holds mu.
func (s *sessions) makeRoom() (victims []*entry) {
	if s.bytes <= s.o.ceiling && len(s.byKey) <= s.o.most {
		return nil
	}
	for at := s.used.Front(); at != nil && s.bytes > s.o.ceiling; at = at.Next() {
		s.measure(at.Value.(*entry)) // they may have been frozen meanwhile
	}
	bytes, count := s.o.ceiling, s.o.most
	if s.bytes <= bytes && len(s.byKey) <= count {
		return nil
	}
	if s.bytes > bytes {
		bytes -= bytes / 16 // so that this is not done for each request
	}
	for at := s.used.Front(); at != nil && (s.bytes > bytes || len(s.byKey) > count); {
		e, next := at.Value.(*entry), at.Next()
		h := s.holders[e.client]
		above := s.bytes > bytes && h.bytes > bytes/len(s.holders) || len(s.byKey) > count && h.sessions > count/len(s.holders)
		if above && e.pins == 0 {
			s.end(e, endedMemory)
			victims = append(victims, e)
		}
		at = next
	}
	return victims
}

// measure asks for the size of a session that was not frozen when it was last asked. The caller holds mu.
func (s *sessions) measure(e *entry) {
	if !e.cold {
		e.cold = e.live.Frozen()
		s.resize(e, e.live.Size())
	}
}

// end takes a session out. The caller holds mu, and closes it.
func (s *sessions) end(e *entry, why ending) {
	s.resize(e, 0)
	h := s.holders[e.client]
	if h.sessions--; h.sessions == 0 {
		delete(s.holders, e.client)
	}
	s.used.Remove(e.at)
	delete(s.byKey, e.key)
	e.ending = why
	s.ended[why]++
	if len(s.ring) < mostMarks {
		s.ring = append(s.ring, e.key)
	} else {
		delete(s.marks, s.ring[s.next])
		s.ring[s.next] = e.key
		s.next = (s.next + 1) % mostMarks
	}
	s.marks[e.key] = why
}

// remove ends a session for its owner.
func (s *sessions) remove(e *entry) {
	s.mu.Lock()
	ended := e.ending == alive
	if ended {
		s.end(e, endedByOwner)
	}
	s.mu.Unlock()
	if ended {
		e.live.Close()
	}
}

// why tells why a session was closed.
func (s *sessions) why(e *entry) ending {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.ending == alive && s.closed {
		return endedByService
	}
	return e.ending
}

// follow counts a stream in; false when there are too many of that session.
func (s *sessions) follow(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.stream >= mostStreams {
		return false
	}
	e.stream++
	return true
}

// seen tells that a stream still follows a session, and counts it out at its end.
func (s *sessions) seen(e *entry, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.last = time.Now()
	if e.ending == alive {
		s.used.MoveToBack(e.at)
	}
	if over {
		e.stream--
	}
}

// sweep expires what was idle too long, and measures what may have been frozen.
func (s *sessions) sweep(now time.Time) {
	s.mu.Lock()
	var victims []*entry
	for at := s.used.Front(); at != nil; {
		e, next := at.Value.(*entry), at.Next()
		if e.pins == 0 && e.stream == 0 && now.Sub(e.last) > s.o.idle {
			s.end(e, endedIdle)
			victims = append(victims, e)
		} else {
			s.measure(e)
		}
		at = next
	}
	s.mu.Unlock()
	closeAll(victims)
}

// close ends all sessions; later ones are closed as they come.
func (s *sessions) close() {
	s.mu.Lock()
	s.closed = true
	var all []*entry
	for at := s.used.Front(); at != nil; at = s.used.Front() {
		e := at.Value.(*entry)
		s.end(e, endedByService)
		all = append(all, e)
	}
	s.mu.Unlock()
	closeAll(all)
}

func closeAll(es []*entry) {
	for _, e := range es {
		e.live.Close()
	}
}

// state is for metrics.
func (s *sessions) state() (live, frozen, bytes int, ended [endings]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.byKey {
		if e.live.Frozen() {
			frozen++
		}
	}
	return len(s.byKey) - frozen, frozen, s.bytes, s.ended
}
