package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"example.com/cardrun/server"
)

// gcPercent is GOGC unless the environment says it: a quarter more renders a second than with Go's 100.
const gcPercent = 400

type serveCmd struct {
	Addr        string `default:"127.0.0.1:8787" placeholder:"ADDR" help:"Listen on ADDR (default: ${default})."`
	MetricsAddr string `placeholder:"ADDR" help:"Listen on ADDR for metrics, health and profiles, which must be a place that nobody else reaches."`
	OTLP        string `name:"otlp" placeholder:"URL" help:"Send spans to this collector, as in http://127.0.0.1:4318/v1/traces."`

	TokenFile      string         `placeholder:"FILE" help:"Ask for a bearer token out of FILE, one a line. Needed to listen on anything but loopback."`
	Insecure       bool           `help:"Listen on any address without tokens."`
	Host           []string       `placeholder:"NAME" help:"A further name that the Host header may have; may be given again."`
	Origin         []string       `placeholder:"ORIGIN" help:"Let pages of this origin call, as in https://chat.example; may be given again."`
	TrustedProxy   []netip.Prefix `placeholder:"CIDR" help:"Believe the X-Forwarded-For of these addresses; may be given again."`
	ClientHeader   string         `placeholder:"NAME" help:"The header in which a backend tells its users apart, so that they share fairly."`
	Rate           float64        `placeholder:"N" help:"Requests a second of one client (default: 100 for those neither on loopback nor with a token; -1: no limit for anybody)."`
	ClientSessions int            `placeholder:"N" help:"Sessions of one client (default: 1000 for those neither on loopback nor with a token; -1: no limit for anybody)."`

	Workers       int           `placeholder:"N" help:"Cards that run at once (default: as many as the machine runs threads at once)."`
	RenderCache   int           `default:"64" placeholder:"MIB" help:"Memory for renders that are answered without running the card again (default: ${default}; 0: none)."`
	ImageCache    int           `default:"64" placeholder:"MIB" help:"Memory for initialized cards, from which sessions start (default: ${default}; 0: none)."`
	SessionMemory int           `default:"512" placeholder:"MIB" help:"Memory for sessions; past it, those least recently used end (default: ${default})."`
	MaxSessions   int           `default:"50000" placeholder:"N" help:"Sessions; past it, likewise (default: ${default})."`
	SessionIdle   time.Duration `default:"30m" placeholder:"TIME" help:"How long a session lives that nobody uses (default: ${default})."`
	KeepRounds    int           `default:"256" placeholder:"N" help:"Rounds that a session keeps after the first (default: ${default}; -1: all)."`
	Patience      time.Duration `default:"1s" placeholder:"TIME" help:"How long a request waits for a worker (default: ${default})."`
	Grace         time.Duration `default:"0s" placeholder:"TIME" help:"After a signal to end: how long requests are still taken while /readyz says no (default: ${default})."`
	Drain         time.Duration `default:"20s" placeholder:"TIME" help:"After that: how long requests may take to finish (default: ${default})."`
}

// Help is shown below the flags.
func (*serveCmd) Help() string {
	return `Serves cards over HTTP until SIGTERM or an interrupt; /openapi.json describes the calls. The log, one JSON object a line with neither content of cards nor ids of sessions, goes to standard error.

Exit status: 0 it ended as asked and cut no request off, 2 a bad call, an address in use, or requests cut off.

Examples:

    cardrun serve
    cardrun serve --addr :8787 --token-file tokens --metrics-addr 127.0.0.1:9090
    curl -H 'Content-Type: application/json' --data-binary @card.json http://127.0.0.1:8787/v1/render`
}

// Run serves.
func (c *serveCmd) Run(e *env) error {
	log := slog.New(slog.NewJSONHandler(e.stderr, nil))
	options, err := c.options(e, log)
	if err != nil {
		return err
	}
	if c.OTLP != "" {
		if u, err := url.Parse(c.OTLP); err != nil || u.Host == "" {
			return fmt.Errorf("--otlp: %q is no address; give one as in http://127.0.0.1:4318/v1/traces", c.OTLP)
		}
		tracer, end, err := server.NewTracer(e.ctx, c.OTLP)
		if err != nil {
			return err
		}
		options.Tracer = tracer
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			defer cancel()
			_ = end(ctx) // spans are not worth an exit status
		}()
	}
	playground, err := server.PlaygroundMounts()
	if err != nil {
		return err
	}
	options.Mounts = append(playground, server.MCPMount(server.MCPOptions{Version: version()}))
	if os.Getenv("GOGC") == "" {
		// The heap of a service is small beside what sessions and guests hold outside of it: fewer collections cost little memory.
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	s, err := server.New(options)
	if err != nil {
		_ = l.Close()
		return err
	}
	if c.MetricsAddr != "" {
		stop, err := c.operate(s, log)
		if err != nil {
			_ = l.Close()
			return errors.Join(err, s.Close())
		}
		defer stop()
	}
	// Guests keep their threads busy for up to 250 ms, which Go's scheduler cannot interrupt. With a thread for each of them
	// beside those that Go would have, the rest of the service is run meanwhile: the system shares the cores out.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + options.Engine.Workers))

	ctx, cancel := context.WithCancelCause(e.ctx)
	defer cancel(nil)
	go func() {
		if err := s.Start(ctx); err != nil {
			cancel(err)
			return
		}
		isolation, why := s.Runtime().Isolation()
		if why != nil {
			log.Warn("no isolation", "why", why.Error())
		}
		log.Info("ready", "addr", l.Addr().String(), "workers", s.Runtime().Workers(), "isolation", string(isolation))
	}()
	log.Info("listen", "addr", l.Addr().String())
	err = s.Serve(ctx, l)
	if cause := context.Cause(ctx); e.ctx.Err() == nil && cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	return errServed
}

// options are those of the server.
func (c *serveCmd) options(e *env, log *slog.Logger) (server.Options, error) {
	o := server.Options{
		Engine: e.options, Hosts: c.Host, Origins: c.Origin, TrustedProxies: c.TrustedProxy, ClientHeader: c.ClientHeader,
		Rate: c.Rate, ClientSessions: c.ClientSessions, Patience: c.Patience, SessionIdle: c.SessionIdle,
		SessionMemory: c.SessionMemory << 20, MaxSessions: c.MaxSessions, KeepRounds: c.KeepRounds, Grace: c.Grace, Drain: c.Drain,
		Log: log,
	}
	for flag, n := range map[string]int{"workers": c.Workers, "render-cache": c.RenderCache, "image-cache": c.ImageCache} {
		if n < 0 {
			return o, fmt.Errorf("--%s: %d; give 0 or more", flag, n)
		}
	}
	for flag, n := range map[string]int{"session-memory": c.SessionMemory, "max-sessions": c.MaxSessions} {
		if n < 1 {
			return o, fmt.Errorf("--%s: %d; give 1 or more", flag, n)
		}
	}
	o.Engine.Workers, o.Engine.RenderCache, o.Engine.ImageCache = c.Workers, c.RenderCache<<20, c.ImageCache<<20
	if o.Engine.Workers == 0 {
		o.Engine.Workers = runtime.GOMAXPROCS(0)
	}
	if c.TokenFile != "" {
		text, err := os.ReadFile(c.TokenFile)
		if err == nil {
			o.Tokens, err = server.ParseTokens(text)
		}
		if err != nil {
			return o, fmt.Errorf("--token-file: %w", err)
		}
	}
	var err error
	if o.Local, err = loopback(c.Addr); err != nil {
		return o, fmt.Errorf("--addr: %w", err)
	}
	if !o.Local && len(o.Tokens) == 0 && !c.Insecure {
		return o, fmt.Errorf("--addr: %s can be reached from other machines; give --token-file, or say --insecure", c.Addr)
	}
	return o, nil
}

// loopback tells whether an address is on loopback alone.
func loopback(addr string) (bool, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false, err
	}
	if host == "" {
		return false, nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip", host)
	if err != nil {
		return false, err
	}
	for _, ip := range ips {
		if !ip.Unmap().IsLoopback() {
			return false, nil
		}
	}
	return true, nil
}

// operate serves metrics, health and profiles on an address of their own.
func (c *serveCmd) operate(s *server.Server, log *slog.Logger) (stop func(), err error) {
	l, err := net.Listen("tcp", c.MetricsAddr)
	if err != nil {
		return nil, fmt.Errorf("--metrics-addr: %w", err)
	}
	h := &http.Server{Handler: s.OperationHandler(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = h.Serve(l) // until stop
	}()
	log.Info("metrics", "addr", l.Addr().String())
	return func() { _ = h.Close(); <-done }, nil
}
