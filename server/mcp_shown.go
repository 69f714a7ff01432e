package server

import (
	"container/list"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

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
