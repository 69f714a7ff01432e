# make test    everything: format, vet, staticcheck, tests, race detector, builds for other systems
# make quick   the tests alone
# make browser the tests against Chromium, which is installed first where that is possible, as is axe-core from npm
# make security  the proofs of SECURITY.md: promise, attacks tried, result
# make soak    the service at work with hostile cards, and under ten times what it can do, for SOAK (default 30s) and OVERLOAD each;
#              make test does the first of it for 30 seconds (make soak-short)
# make isolate the tests of the packages that run cards once more, with the cards in worker processes (Linux)
# make bench   the figures of the README
# make bench-peers  cardrun beside other engines, in one run: the table of the README. Builds them, with Node from apt and packages from npm
# make probe   the fuzz targets that stand between a card and a page, 5 seconds each, 10 where CI=true, and generated
#              cards, 5 seconds, 2 minutes where CI=true
# make fuzz    each fuzz target for FUZZTIME (default 10 minutes)

GO        ?= go
FUZZTIME  ?= 10m
SOAK      ?= 30s
OVERLOAD  ?= 10s
# Packages with goroutines of their own.
RACE      = . ./sandbox ./conformance/load ./server
# Not with the race detector: what starts no goroutines of its own, needs all of a round's time, or mostly waits for processes.
RACE_SKIP = TestHostile$$|TestProcessStarts|HangsIsNotWaitedFor|ProcessMayNothing|ProcessesChangeNothing|HostileKillMatrix|HostileCards|HostileStart|HostileIsolation|HostileEngine|HostileNative|DamagedCache|TestReview|TestLint|MCP|OpenAPI|TestAbuse
SYSTEMS   = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
PROBE     = ./sanitize:FuzzHTML ./sanitize:FuzzCSS ./patches:FuzzPatches
FUZZ      = ./limits:FuzzLength ./sandbox:FuzzAdapt ./sanitize:FuzzHTML ./sanitize:FuzzCSS ./patches:FuzzPatches \
            ./uiapi:FuzzParseOutput ./uiapi:FuzzPlace ./uiapi/script:FuzzRead .:FuzzDecode .:FuzzCheck .:FuzzReview .:FuzzDisplayText ./cmd/cardrun:FuzzJSONSafe ./conformance:FuzzCards

.PHONY: bench-peers peers test isolate quick browser chromium axe security format lint race systems bench probe soak soak-short fuzz

# The other systems are built beside the tests, which keep mostly one core busy, and give way to them.
test: format lint
	@$(MAKE) --no-print-directory -j2 quick systems
	@$(MAKE) --no-print-directory browser race probe soak-short

# Where CI=true, the largest tables of attacks are cut to a part; `make test` and `make security` by hand run all of them.
# One package after another: rounds have 250 ms of wall time, which packages side by side would take from one another.
quick:
	$(GO) test -p 1 $(if $(CI),-short) ./...

# CARDRUN_CHROMIUM names a browser that is not found by itself.
HAS_CHROMIUM = for c in $$CARDRUN_CHROMIUM chromium chromium-browser google-chrome; do command -v $$c >/dev/null 2>&1 && exit 0; done; exit 1

chromium:
	@if ! ($(HAS_CHROMIUM)) && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "install chromium"; \
		(apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium) >/dev/null || true; \
	fi

browser: chromium axe
	@if ! ($(HAS_CHROMIUM)); then \
		echo "THE BROWSER HALF OF THE TESTS DID NOT RUN: there is no Chromium here; install it, or name it in CARDRUN_CHROMIUM" >&2; \
	else \
		$(GO) vet -tags browser ./conformance/... ./viewer ./server && \
		$(GO) tool staticcheck -tags browser ./conformance/... ./viewer ./server && \
		$(GO) test -tags browser ./conformance -run '^TestBrowser$$' -count 1 -v && \
		$(GO) test -tags browser ./viewer -count 1 -v $(if $(CI),-short) && \
		$(GO) test -tags browser ./server -run 'MCPPage$$' -count 1 -v $(if $(CI),-short); \
	fi

# axe-core, pinned; the tests know its hash. Without npm the tests that want it are skipped, and say so.
AXE = .tools/node_modules/axe-core/axe.min.js

axe: $(AXE)

$(AXE):
	@if ! command -v npm >/dev/null 2>&1 && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "install npm"; \
		(apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends npm) >/dev/null || true; \
	fi; \
	if command -v npm >/dev/null 2>&1; then \
		npm install --silent --no-save --no-audit --no-fund --ignore-scripts --prefix .tools axe-core@4.14.1 || true; \
	fi; \
	[ -f $@ ] || echo "THE TESTS WITH AXE WILL NOT RUN: there is no axe-core here, and npm could not install it" >&2

# The table is in SECURITY.md; ONLY=WORD runs the rows with that word.
security: chromium
	$(GO) run ./conformance/security -only "$(ONLY)"

format:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

lint:
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

race:
	CGO_ENABLED=1 $(GO) test -p 1 -race -short -skip '$(RACE_SKIP)' $(RACE)

isolate:
	CARDRUN_TEST_ISOLATION=process $(GO) test -p 1 -short . ./uiapi
	$(GO) run ./cmd/cardrun --isolate=process conform conformance/cases

systems:
	@for s in $(SYSTEMS); do \
		echo "build and vet for $$s"; \
		GOOS=$${s%/*} GOARCH=$${s#*/} CGO_ENABLED=0 nice $(GO) build -p 1 -o /dev/null ./... && \
		GOOS=$${s%/*} GOARCH=$${s#*/} CGO_ENABLED=0 nice $(GO) vet -p 1 ./... || exit 1; \
	done

# Without the overload, which misses its 90 % of the peak where the callers share two cores with the service; see the README.
soak-short:
	CARDRUN_SOAK=30s $(GO) test ./cmd/cardrun -run '^Test(Soak|TermUnderLoad)$$' -count 1 -v -timeout 10m

soak:
	CARDRUN_SOAK=$(SOAK) CARDRUN_OVERLOAD=$(OVERLOAD) $(GO) test ./cmd/cardrun -run '^Test(Soak|Overload|TermUnderLoad|TermLosesNothing)$$' -count 1 -v -timeout 2h

bench:
	$(GO) test -run '^$$' -bench . -benchtime 500x ./sandbox ./uiapi ./patches .
	$(GO) test -run '^$$' -bench . -benchtime 100x ./sanitize

# What is on Node is pinned by package-lock.json, what is in Go by a module of its own; both go into .tools/peers.
PEERS = .tools/peers

peers:
	@if ! (command -v node && command -v npm) >/dev/null 2>&1 && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "install nodejs and npm"; \
		(apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends nodejs npm) >/dev/null || true; \
	fi
	@mkdir -p $(PEERS) && cp conformance/peers/node/* $(PEERS)/
	@if command -v npm >/dev/null 2>&1; then \
		(cd $(PEERS) && npm ci --silent --no-audit --no-fund --ignore-scripts) || echo "THE PEERS ON NODE WILL BE MISSING: npm could not install them" >&2; \
	fi
	cd conformance/peers/engines && $(GO) vet . && $(GO) build -o ../../../$(PEERS)/engines .
	$(GO) build -o $(PEERS)/bench ./conformance/peers

# About nine minutes; PEERS_FLAGS="-only latency -runs 3" for less.
bench-peers: peers
	$(PEERS)/bench -bin $(PEERS) -json $(PEERS)/results.json $(PEERS_FLAGS)
	$(PEERS)/bench -bin $(PEERS) -differ

probe:
	@$(MAKE) --no-print-directory fuzz FUZZ="$(PROBE)" FUZZTIME=$(if $(CI),10s,5s)
	@$(MAKE) --no-print-directory fuzz FUZZ=./conformance:FuzzCards FUZZTIME=$(if $(CI),2m,5s)

# Inputs that are only interesting are cut down for 100 runs at most, not for a minute each.
fuzz:
	@for f in $(FUZZ); do \
		echo "fuzz $$f for $(FUZZTIME)"; \
		$(GO) test -run '^$$' -fuzz "^$${f#*:}$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x "$${f%:*}" || exit 1; \
	done
