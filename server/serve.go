package server

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Serve answers on a listener until ctx ends. Then the service is not ready any more, takes requests for the time of
// Options.Grace, lets those finish that it has taken, for the time of Options.Drain, and closes. It returns nil when no
// request was cut off.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(l) }()
	select {
	case err := <-failed:
		return errors.Join(fmt.Errorf("serve: %w", err), s.Close())
	case <-ctx.Done():
	}
	s.o.Log.Info("drain", "grace_ms", s.o.Grace.Milliseconds())
	s.Drain()
	select {
	case <-time.After(s.o.Grace):
	case err := <-failed:
		return errors.Join(fmt.Errorf("serve: %w", err), s.Close())
	}
	s.endStreams()
	_ = l.Close() // nobody new
	<-failed
	// A connection without a request is closed by Shutdown at once. Give requests that are on their way the time to arrive: their
	// answers say that the connection closes, so that soon there is none left.
	s.conns.settle(min(time.Second, s.o.Drain/2))
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.Drain)
	defer cancel()
	err := s.http.Shutdown(deadline)
	if err != nil {
		err = fmt.Errorf("drain: requests were cut off after %v: %w", s.o.Drain, err)
	}
	s.o.Log.Info("closed", "clean", err == nil)
	return errors.Join(err, s.Close())
}

// connections bounds how many there are. For one more, the one goes that has been without a request longest, be it idle, be
// it that its headers come slowly: a request's headers take milliseconds.
type connections struct {
	most int

	mu     sync.Mutex
	all    map[net.Conn]*connection
	unused *list.List // of *connection without a request, longest first
	change chan struct{}
}

type connection struct {
	c  net.Conn
	at *list.Element // in unused; nil while a request is handled
}

type connectionKey struct{}

func newConnections(most int) *connections {
	return &connections{most: most, all: make(map[net.Conn]*connection), unused: list.New(), change: make(chan struct{}, 1)}
}

// state follows http.Server.ConnState.
func (n *connections) state(c net.Conn, state http.ConnState) {
	var victim net.Conn
	n.mu.Lock()
	switch state {
	case http.StateNew:
		k := n.of(c)
		if len(n.all) > n.most {
			if at := n.unused.Front(); at != nil && at.Value != k {
				victim = at.Value.(*connection).c
				n.drop(victim)
			} else {
				victim = c
			}
		}
	case http.StateClosed, http.StateHijacked:
		n.drop(c)
	}
	n.mu.Unlock()
	if victim != nil {
		_ = victim.Close()
	}
}

// of finds or adds a connection. The caller holds mu.
func (n *connections) of(c net.Conn) *connection {
	k := n.all[c]
	if k == nil {
		k = &connection{c: c}
		k.at = n.unused.PushBack(k)
		n.all[c] = k
	}
	return k
}

// drop forgets a connection. The caller holds mu.
func (n *connections) drop(c net.Conn) {
	if k := n.all[c]; k != nil {
		if k.at != nil {
			n.unused.Remove(k.at)
		}
		delete(n.all, c)
		select {
		case n.change <- struct{}{}:
		default:
		}
	}
}

// context puts the connection where enter finds it.
func (n *connections) context(ctx context.Context, c net.Conn) context.Context {
	n.mu.Lock()
	defer n.mu.Unlock()
	return context.WithValue(ctx, connectionKey{}, n.of(c))
}

// enter tells that a request is handled; leave, that it is no more.
func (n *connections) enter(ctx context.Context) (leave func()) {
	k, ok := ctx.Value(connectionKey{}).(*connection)
	if !ok {
		return func() {}
	}
	n.mu.Lock()
	if k.at != nil {
		n.unused.Remove(k.at)
		k.at = nil
	}
	n.mu.Unlock()
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.all[k.c] == k && k.at == nil {
			k.at = n.unused.PushBack(k)
		}
	}
}

func (n *connections) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.all)
}

// settle waits until no connection is left, or none has closed for a while, no longer than longest.
func (n *connections) settle(longest time.Duration) {
	const quiet = 250 * time.Millisecond
	over := time.After(longest)
	for n.count() > 0 {
		select {
		case <-n.change:
		case <-time.After(quiet):
			return
		case <-over:
			return
		}
	}
}
