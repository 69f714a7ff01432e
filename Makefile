# make test    everything: format, vet, staticcheck, tests, race detector, builds for other systems
# make quick   the tests alone
# make bench   the figures of the README
# make fuzz    each fuzz target for FUZZTIME (default 10 minutes)

GO        ?= go
FUZZTIME  ?= 10m
# Packages with goroutines of their own.
RACE      = . ./sandbox ./uiapi ./conformance
SYSTEMS   = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
FUZZ      = ./limits:FuzzLength ./sandbox:FuzzAdapt ./sanitize:FuzzHTML ./sanitize:FuzzCSS ./patches:FuzzPatches \
            .:FuzzDecode .:FuzzCheck .:FuzzDisplayText ./cmd/cardrun:FuzzJSONSafe

.PHONY: test quick format lint race systems bench fuzz

test: format lint quick race systems

quick:
	$(GO) test ./...

format:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

lint:
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

race:
	CGO_ENABLED=1 $(GO) test -race -short $(RACE)

systems:
	@for s in $(SYSTEMS); do \
		echo "build and vet for $$s"; \
		GOOS=$${s%/*} GOARCH=$${s#*/} CGO_ENABLED=0 $(GO) build -o /dev/null ./... && \
		GOOS=$${s%/*} GOARCH=$${s#*/} CGO_ENABLED=0 $(GO) vet ./... || exit 1; \
	done

bench:
	$(GO) test -run '^$$' -bench . -benchtime 500x ./sandbox ./uiapi ./patches .
	$(GO) test -run '^$$' -bench . -benchtime 100x ./sanitize

fuzz:
	@for f in $(FUZZ); do \
		echo "fuzz $$f for $(FUZZTIME)"; \
		$(GO) test -run '^$$' -fuzz "^$${f#*:}$$" -fuzztime $(FUZZTIME) "$${f%:*}" || exit 1; \
	done
