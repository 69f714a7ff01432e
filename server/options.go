package server

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"
)

// check refuses options that mean nothing: a time or a size below 0 where none stands for "no limit", a rate that is no
// number, and names that no header could have. It comes after the defaults.
func (o *Options) check() error {
	for _, d := range []struct {
		name string
		time time.Duration
	}{
		{"patience", o.Patience}, {"body time", o.BodyTime}, {"session idle", o.SessionIdle},
		{"heartbeat", o.Heartbeat}, {"drain", o.Drain}, {"grace", o.Grace},
	} {
		if d.time < 0 {
			return fmt.Errorf("%s: %v; give a time above 0", d.name, d.time)
		}
	}
	for _, n := range []struct {
		name string
		size int
	}{
		{"workers", o.Engine.Workers}, {"max waiting", o.MaxWaiting}, {"body memory", o.BodyMemory},
		{"max connections", o.MaxConnections}, {"session memory", o.SessionMemory}, {"max sessions", o.MaxSessions},
	} {
		if n.size < 1 {
			return fmt.Errorf("%s: %d; give 1 or more", n.name, n.size)
		}
	}
	if math.IsNaN(o.Rate) || math.IsInf(o.Rate, 0) {
		return fmt.Errorf("rate: %v; give requests a second, or -1 for no limit", o.Rate)
	}
	if strings.ContainsFunc(o.ClientHeader, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	}) {
		return fmt.Errorf("client header %q: give a header's name, as in X-User", o.ClientHeader)
	}
	for _, origin := range o.Origins {
		if u, err := url.Parse(origin); err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			return fmt.Errorf("origin %q: give scheme and host, as in https://chat.example", origin)
		}
	}
	for _, host := range o.Hosts {
		if host == "" || strings.ContainsAny(host, "/: ") {
			return fmt.Errorf("host %q: give a name without scheme and port", host)
		}
	}
	return nil
}
