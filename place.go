package cardrun

import "strconv"

// Place says where a round stands among all rounds of a session, so that those who hear of rounds in two ways, or hear of them
// again after a break, can tell which they have.
type Place struct {
	// Activation counts from 1; a Refresh raises it.
	Activation int
	// Round counts from 0, which is initialization.
	Round int
}

// String is the activation and the number with a dot between, as in 1.0.
func (p Place) String() string { return strconv.Itoa(p.Activation) + "." + strconv.Itoa(p.Round) }

// Look is [Session.Snapshot] with the place of its last round.
func (s *Session) Look() (*Snapshot, Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.act.snapshot(), s.place()
}

// place is that of the last round. The caller holds mu.
func (s *Session) place() Place { return Place{s.activations, s.act.rounds.count() - 1} }
