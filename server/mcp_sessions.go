package server

import (
	"container/list"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/cardrun"
)

// mcpSessions keeps the sessions that generated_ui_play was asked to keep, by a digest of their secrets. Past its bounds,
// those end that were used longest ago.
type mcpSessions struct {
	most, memory int
	idle         time.Duration

	mu     sync.Mutex
	byKey  map[[16]byte]*mcpSession
	used   *list.List // of *mcpSession, longest ago first
	bytes  int
	closed bool
}

type mcpSession struct {
	key  [16]byte
	live *cardrun.Session
	turn chan struct{} // one place: calls on a session go one at a time
	at   *list.Element // nil once it has ended; guarded by the store's mu, as is what follows
	last time.Time
	size int
	pins int // calls that use it now
}

func newMCPSessions(most, memory int, idle time.Duration) *mcpSessions {
	return &mcpSessions{most: most, memory: memory, idle: idle, byKey: make(map[[16]byte]*mcpSession), used: list.New()}
}

func mcpKey(id string) [16]byte {
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}

// add takes a session in and gives its secret: 192 bits at random.
func (s *mcpSessions) add(live *cardrun.Session) string {
	text := make([]byte, 24)
	_, _ = rand.Read(text) // never fails
	id := base64.RawURLEncoding.EncodeToString(text)
	e := &mcpSession{key: mcpKey(id), live: live, turn: make(chan struct{}, 1), last: time.Now(), size: live.Size()}
	s.mu.Lock()
	e.at = s.used.PushBack(e)
	s.byKey[e.key] = e
	s.bytes += e.size
	victims := s.makeRoom(time.Now())
	if s.closed && e.at != nil {
		s.end(e)
		victims = append(victims, e)
	}
	s.mu.Unlock()
	closeMCP(victims)
	return id
}

// take finds a session, which is to be put back; nil when there is none.
func (s *mcpSessions) take(id string) *mcpSession {
	now := time.Now()
	s.mu.Lock()
	victims := s.makeRoom(now)
	e := s.byKey[mcpKey(id)]
	if e != nil {
		e.pins++
		e.last = now
		s.used.MoveToBack(e.at)
	}
	s.mu.Unlock()
	closeMCP(victims)
	return e
}

// put gives a session back; over ends it.
func (s *mcpSessions) put(e *mcpSession, over bool) {
	size := e.live.Size()
	s.mu.Lock()
	e.pins--
	var victims []*mcpSession
	if e.at != nil {
		s.bytes += size - e.size
		e.size, e.last = size, time.Now()
		if over {
			s.end(e)
			victims = append(victims, e)
		}
		victims = append(victims, s.makeRoom(e.last)...)
	}
	s.mu.Unlock()
	closeMCP(victims)
}

// makeRoom ends what is idle too long or too much, and gives it to be closed. The caller holds mu.
func (s *mcpSessions) makeRoom(now time.Time) (victims []*mcpSession) {
	for at := s.used.Front(); at != nil; {
		e, next := at.Value.(*mcpSession), at.Next()
		if now.Sub(e.last) <= s.idle && len(s.byKey) <= s.most && s.bytes <= s.memory {
			break
		}
		if e.pins == 0 {
			s.end(e)
			victims = append(victims, e)
		}
		at = next
	}
	return victims
}

// end takes a session out. The caller holds mu, and closes it.
func (s *mcpSessions) end(e *mcpSession) {
	s.used.Remove(e.at)
	e.at = nil
	delete(s.byKey, e.key)
	s.bytes -= e.size
}

func (s *mcpSessions) close() {
	s.mu.Lock()
	s.closed = true
	var all []*mcpSession
	for at := s.used.Front(); at != nil; at = s.used.Front() {
		e := at.Value.(*mcpSession)
		s.end(e)
		all = append(all, e)
	}
	s.mu.Unlock()
	closeMCP(all)
}

func closeMCP(es []*mcpSession) {
	for _, e := range es {
		e.live.Close()
	}
}

// mostShown is how many cards' pages can be read by the address that their result names: those shown last. Each takes no
// more than its result, 24,000 bytes.
const mostShown = 128

// mcpShown remembers the structured content of results by card, for pages that have it inside.
type mcpShown struct {
	most int

	mu    sync.Mutex
	byID  map[string]*list.Element
	order *list.List // of shownCard, longest ago first
}

type shownCard struct {
	id   string
	text jsontext.Value
}

func newMCPShown(most int) *mcpShown {
	return &mcpShown{most: most, byID: make(map[string]*list.Element), order: list.New()}
}

func (s *mcpShown) put(id string, text jsontext.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.byID[id]; at != nil {
		s.order.Remove(at)
	}
	s.byID[id] = s.order.PushBack(shownCard{id, text})
	if s.order.Len() > s.most {
		delete(s.byID, s.order.Remove(s.order.Front()).(shownCard).id)
	}
}

func (s *mcpShown) get(id string) (jsontext.Value, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.byID[id]
	if at == nil {
		return nil, false
	}
	s.order.MoveToBack(at)
	return at.Value.(shownCard).text, true
}
