package server

import (
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/cardrun"
)

// metrics is what is counted. Labels have few values, none of which a client chooses.
type metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	rounds    *prometheus.CounterVec
	guest     prometheus.Histogram
	queue     prometheus.Histogram
	sanitizer prometheus.Histogram
	shed      *prometheus.CounterVec
	streams   prometheus.Gauge
}

// buckets reach from what a cached answer takes to well over the 250 ms of a round.
func buckets() []float64 {
	return []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardrun_requests_total", Help: "Requests by route and status."}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cardrun_request_seconds", Help: "From the end of a request's headers to the end of its answer.", Buckets: buckets()}, []string{"route"}),
		rounds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardrun_rounds_total", Help: "Rounds by phase and outcome: ok, discarded, cached, or the code of the failure."}, []string{"phase", "outcome"}),
		guest: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "cardrun_guest_seconds", Help: "Time in which a round's script ran.", Buckets: buckets()}),
		queue: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "cardrun_queue_seconds", Help: "Time in which a request or a round waited for a worker.", Buckets: buckets()}),
		sanitizer: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "cardrun_sanitizer_seconds", Help: "Time in which the html and css of a card were checked, or a batch was and applied.", Buckets: buckets()}),
		shed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardrun_shed_total", Help: "Requests refused for load: backlog and queue (at once), wait (after waiting), rate."}, []string{"reason"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "cardrun_streams", Help: "Streams that are open."}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.rounds, m.guest, m.queue, m.sanitizer, m.shed, m.streams, collect{s},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) request(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

// round counts rounds; failure is why the activation ended, if one of them ended it.
func (m *metrics) round(rounds []cardrun.Round, first int, failure *cardrun.Failure) {
	for n, r := range rounds {
		outcome := "ok"
		switch {
		case failure != nil && failure.Round == first+n:
			outcome = string(failure.Code)
		case r.Discarded:
			outcome = "discarded"
		}
		if r.Usage.Cached {
			outcome = "cached"
		} else {
			m.guest.Observe(float64(r.Usage.ElapsedUS) / 1e6)
		}
		m.rounds.WithLabelValues(string(r.Phase), outcome).Inc()
	}
}

// handler gives the metrics as text.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 5 * time.Second})
}

// OperationHandler is for a listener of its own that nobody else reaches: /metrics, /healthz, /readyz, and profiles under
// /debug/pprof/.
func (s *Server) OperationHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.handler())
	mux.HandleFunc("GET /healthz", s.gate)
	mux.HandleFunc("GET /readyz", s.gate)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// collect asks the server for what it can tell at any moment.
type collect struct{ s *Server }

// Describe sends nothing: the metrics are not checked beforehand.
func (collect) Describe(chan<- *prometheus.Desc) {}

// Collect sends the present state.
func (c collect) Collect(out chan<- prometheus.Metric) {
	send := func(kind prometheus.ValueType, name, help string, value float64, labels ...string) {
		var names, values []string
		for n := 0; n < len(labels); n += 2 {
			names, values = append(names, labels[n]), append(values, labels[n+1])
		}
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, value, values...)
	}
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	waiting, busy := c.s.turns.state()
	send(gauge, "cardrun_workers", "Workers: guests that may run at once.", float64(c.s.turns.workers))
	send(gauge, "cardrun_workers_busy", "Workers that are taken.", float64(busy))
	send(gauge, "cardrun_queue_length", "Requests and rounds that wait for a worker.", float64(waiting))
	send(gauge, "cardrun_connections", "Connections that are open.", float64(c.s.conns.count()))
	live, frozen, bytes, ended := c.s.sessions.state()
	const sessions, help = "cardrun_sessions", "Sessions by whether they hold a guest (live) or its frozen state, if any."
	send(gauge, sessions, help, float64(live), "state", "live")
	send(gauge, sessions, help, float64(frozen), "state", "frozen")
	send(gauge, "cardrun_session_bytes", "What all sessions take, about.", float64(bytes))
	for why := endedIdle; why < endings; why++ {
		send(counter, "cardrun_sessions_ended_total", "Sessions that ended, by why.", float64(ended[why]), "reason", why.String())
	}
	ready := 0.0
	if rt := c.s.rt.Load(); rt != nil {
		ready = 1
		replaced := rt.Replaced()
		const name, help = "cardrun_guests_replaced_total", "Guests thrown away: stopped (trapped, out of something, or cut off), or grown beyond the image."
		send(counter, name, help, float64(replaced.Stopped), "reason", "stopped")
		send(counter, name, help, float64(replaced.Grown), "reason", "grown")
		renders, images := rt.CacheStats()
		for name, c := range map[string]cardrun.CacheStats{"render": renders, "image": images} {
			send(counter, "cardrun_cache_hits_total", "Answers from memory.", float64(c.Hits), "cache", name)
			send(counter, "cardrun_cache_misses_total", "Cards that had to be run.", float64(c.Misses), "cache", name)
			send(gauge, "cardrun_cache_bytes", "What a cache holds.", float64(c.Bytes), "cache", name)
		}
	}
	send(gauge, "cardrun_ready", "1 when the self-test has passed.", ready)
}
