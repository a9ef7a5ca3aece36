# Everything here needs Go and make only, but for `check`, which wants real
# servers: see .ci/run.
SHELL := /bin/bash
GO    ?= go

.PHONY: help
help: ## show this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## a whole run on a sandbox: no account, no server, no flags
	@$(GO) run ./cmd/importer demo

.PHONY: test
test: ## the tests that need nothing but Go
	$(GO) test ./...

.PHONY: build
build: ## bin/importer and bin/worker
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ ./cmd/importer ./cmd/worker

.PHONY: sbom
sbom: build ## the modules of each binary with their hashes, as the toolchain recorded them: bin/*.modules.json
	for binary in importer worker; do $(GO) version -m -json bin/$$binary > bin/$$binary.modules.json || exit 1; done

.PHONY: pin-images
pin-images: ## the digests of the images anew, from their registry; needs docker
	@for image in $$(grep -hoE '(image:|FROM) +[^ ]+@sha256:[0-9a-f]{64}' Dockerfile docker-compose.yml | sed -E 's/^[^ ]+ +//'); do \
		digest=$$(docker buildx imagetools inspect "$${image%@*}" --format '{{.Manifest.Digest}}') || exit 1; \
		sed -i "s|$$image|$${image%@*}@$$digest|" Dockerfile docker-compose.yml; \
	done; git diff --stat Dockerfile docker-compose.yml

.PHONY: race
race: ## the tests under the race detector
	$(GO) test -race ./...

.PHONY: lint
lint: ## gofmt, vet, staticcheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	$(GO) tool -modfile=tools/go.mod staticcheck ./...

.PHONY: bench
bench: ## the figures of the README (some minutes)
	$(GO) test -run '^$$' -bench 'Place' -benchtime 1x -count 3 ./internal/jobs
	$(GO) test -run '^$$' -bench 'Check|Encoding|Excelize' -benchtime 3x ./internal/importer

.PHONY: bench-fleet
bench-fleet: ## how the rate grows with the workers, on real servers; writes docs/bench and the plot
	FLEET_ROWS=1 FLEET_FIGURES=1 $(GO) test -run '^$$' -bench Fleet -benchtime 1x -timeout 20m ./cmd/worker

.PHONY: fleet
fleet: ## the proof: four workers, real servers, and everything happens to them (FLEET_ROWS, FLEET_SEED)
	FLEET_ROWS=$${FLEET_ROWS:-10000} $(GO) test -count=1 -run '^TestFleet$$' -v -timeout 15m ./cmd/worker

.PHONY: browser
browser: ## the page in a real Chromium, with TEST_DATABASE_URL and TEST_REDIS_URL on a fleet too (UPDATE_SCREENSHOTS=1)
	$(GO) -C tools/browser test -count=1 -v -timeout 15m .

.PHONY: oidc
oidc: ## signing in with a certified OpenID provider; needs Node.js 20 and npm
	cd tools/oidc && npm ci --silent
	$(GO) -C tools/oidc test -count=1 -v -timeout 5m .

.PHONY: hostile
hostile: ## what each hostile spreadsheet costs: memory and processor time of a check
	HOSTILE_FILES=all $(GO) test -count=1 -run '^TestHostileFilesCostLittle$$' -v ./cmd/importer

.PHONY: mutants
mutants: ## put bugs into the core, one by one: a test must find each; writes docs/mutants.md
	$(GO) -C tools/mutants run .

.PHONY: fuzz
fuzz: ## half a minute of fuzzing each reader
	$(GO) test -run '^$$' -fuzz FuzzCSV -fuzztime 30s ./internal/sheet
	$(GO) test -run '^$$' -fuzz FuzzXLSX -fuzztime 30s ./internal/sheet
	$(GO) test -run '^$$' -fuzz FuzzCost -fuzztime 30s ./internal/sheet
	$(GO) test -run '^$$' -fuzz FuzzParseEvent -fuzztime 30s ./internal/webhook

.PHONY: templates
templates: ## make templates/ and samples/ anew from the table of columns
	$(GO) generate ./internal/importer

.PHONY: check
check: ## what CI does, on real servers
	.ci/run
