# Most targets need only Go and make. The help text of each other target says what it needs.
SHELL := /bin/bash
GO    ?= go
comma := ,
GORELEASER    ?= $(GO) run github.com/goreleaser/goreleaser/v2@v2.14.0
GOLANGCI_LINT ?= $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# demo, test, build and lint share these flags, and so their compiled packages. With
# -trimpath, clones share them too.
export CGO_ENABLED ?= 0
export GOFLAGS += -trimpath
BUILD := $(GO) build -ldflags "-s -w"

# GOTEST runs go test with flags and packages; .ci/gotest also repeats what failed.
GOTEST ?= $(GO) test

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## a whole run on a sandbox; needs no account, server or flag
	@echo "Compiling, about three minutes the first time…"
	@$(BUILD) -buildvcs=false -o bin/ ./cmd/importer
	@rm -rf bulkfiling-demo && bin/importer demo

# Tests spend much of their time waiting, so run four packages at once.
.PHONY: test
test: ## run the tests, two minutes once compiled; on PostgreSQL and Redis too with TEST_DATABASE_URL and TEST_REDIS_URL
	$(GOTEST) -short -p 4 -timeout 20m ./...

.PHONY: test-long
test-long: ## run all tests, the long ones too
	$(GOTEST) -p 2 -skip '^TestFleet$$' -timeout 40m ./...

.PHONY: build
build: ## build bin/importer and bin/worker
	$(BUILD) -o bin/ ./cmd/importer ./cmd/worker

.PHONY: pin-images
pin-images: ## update the digests of the images from their registry; needs docker
	@for image in $$(grep -hoE '(image:|FROM) +[^ ]+@sha256:[0-9a-f]{64}' Dockerfile docker-compose.yml | sed -E 's/^[^ ]+ +//'); do \
		digest=$$(docker buildx imagetools inspect "$${image%@*}" --format '{{.Manifest.Digest}}') || exit 1; \
		sed -i "s|$$image|$${image%@*}@$$digest|" Dockerfile docker-compose.yml; \
	done; git diff --stat Dockerfile docker-compose.yml

# UNINSTRUMENTED is third-party code that is slow under the race detector. Skipping it makes
# the ledger's tests five times faster.
UNINSTRUMENTED := modernc.org/sqlite/lib modernc.org/libc github.com/yuin/gopher-lua
.PHONY: race
race: ## run the tests of the core under the race detector; needs gcc
	env -u TEST_DATABASE_URL -u TEST_REDIS_URL -u CI CGO_ENABLED=1 $(GOTEST) -race -short -p 4 -timeout 20m \
		$(UNINSTRUMENTED:%='-gcflags=%=-race=false') \
		./internal/jobs ./internal/ledger ./internal/filingapi ./internal/webhook

.PHONY: race-long
race-long: ## run all tests under the race detector; needs gcc
	env -u TEST_DATABASE_URL -u TEST_REDIS_URL -u CI CGO_ENABLED=1 $(GOTEST) -race -p 2 -timeout 60m \
		$(UNINSTRUMENTED:%='-gcflags=%=-race=false') -skip '^(TestHostile.*)$$' ./internal/... ./cmd/...

.PHONY: lint
lint: ## gofmt, vet, golangci-lint (.golangci.yml); the first run builds the linter
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	$(GOLANGCI_LINT) run ./...

.PHONY: tools
tools: ## vet, lint and test the modules in tools/
	for module in browser containers deploy oidc; do \
		(cd tools/$$module && $(GO) vet ./... && $(GOLANGCI_LINT) run ./...) || exit 1; done
	$(GO) -C tools/deploy test -count=1 .

.PHONY: rules
rules: ## check and test the alerts of deploy/prometheus; needs promtool (Debian's prometheus)
	promtool check rules deploy/prometheus/rules.yml
	promtool test rules deploy/prometheus/rules_test.yml

.PHONY: bench
bench: ## measure the whole command beside the simplest program that does the same: medians of five, in five minutes
	BENCH=1 $(GO) test -count=1 -run '^TestBench$$' -v -timeout 20m ./cmd/importer

.PHONY: fleet
fleet: ## prove the fleet: four workers under every fault (FLEET_ROWS); needs TEST_DATABASE_URL and redis-server
	FLEET_ROWS=$${FLEET_ROWS:-10000} $(GO) test -count=1 -run '^TestFleet$$' -v -timeout 15m ./cmd/worker

.PHONY: simulate
simulate: ## tell stories of the whole product (WORLDS=60); SEED=7 tells the story of one seed
	WORLDS=$(or $(WORLDS),$(if $(SEED),1,60)) SEED=$(SEED) $(GOTEST) -count=1 -run '^TestSimulate$$' -v -timeout 30m \
		./internal/simulate

.PHONY: accountant
accountant: ## prove an accountant's whole workflow in a real Chromium, which it needs, in about a minute
	cd tools/browser && $(GOTEST) -count=1 -run '^TestWholeWorkflow$$' -timeout 10m ./...

.PHONY: browser
browser: ## prove the page in a real Chromium (UPDATE_SCREENSHOTS=1)
	$(GO) -C tools/browser test -count=1 -v -timeout 25m .

.PHONY: oidc
oidc: ## prove the sign-in with a certified OpenID provider; needs Node.js 20 and npm
	cd tools/oidc && npm ci --silent
	$(GO) -C tools/oidc test -count=1 -v -timeout 5m .

.PHONY: containers
containers: ## build the image and prove the compose file in a container engine; needs root and Debian's docker.io (see deploy/README.md)
	$(GO) -C tools/containers test -count=1 -v -timeout 35m .

.PHONY: hostile
hostile: ## measure memory and processor time of checking hostile spreadsheets
	HOSTILE_FILES=all $(GO) test -count=1 -run '^TestHostileFilesCostLittle$$' -v ./cmd/importer

.PHONY: fuzz
fuzz: ## fuzz each reader for half a minute
	$(GO) test -run '^$$' -fuzz FuzzCSV -fuzztime 30s ./internal/sheet
	$(GO) test -run '^$$' -fuzz FuzzXLSX -fuzztime 30s ./internal/sheet
	$(GO) test -run '^$$' -fuzz FuzzCost -fuzztime 30s ./internal/sheet
	$(GO) test -run '^$$' -fuzz FuzzParseEvent -fuzztime 30s ./internal/filing

# Compiled with -trimpath, packages are those of a release, and compiled once for both.
.PHONY: cross
cross: CROSS_TARGETS ?= windows/amd64,windows/arm64,darwin/amd64,darwin/arm64
cross: ## vet the programs and their tests for Windows and macOS (CROSS_TARGETS=windows/amd64,…)
	for platform in $(subst $(comma), ,$(CROSS_TARGETS)); do \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0 $(GO) vet -trimpath ./... || exit 1; done

.PHONY: release
release: ## publish the release of the current tag (.goreleaser.yaml); needs GITHUB_TOKEN and syft (RELEASE="release --snapshot" publishes nothing)
	$(GORELEASER) $(or $(RELEASE),release) --clean

.PHONY: release-check
release-check: ## check .goreleaser.yaml
	$(GORELEASER) check

# go mod vendor copies the license files of every module beside its packages.
.PHONY: licenses
licenses: ## collect the licenses of all modules in .release/licenses (goreleaser does)
	rm -rf .release
	$(GO) mod vendor -o .release/licenses
	find .release/licenses -type f ! -iregex '.*/\(un\)?\(licen[sc]e\|copying\|notice\|patents\)[^/]*' -delete
	find .release/licenses -name '*.go' -delete
	cp "$$($(GO) env GOROOT)/LICENSE" .release/licenses/Go-LICENSE
	find internal -name LICENSE -exec cp --parents {} .release/licenses \;

.PHONY: templates
templates: ## generate templates/ and docs/columns.md from the table of columns
	$(GO) generate ./internal/importer

.PHONY: check
check: ## run what CI runs, about 15 minutes; installs Debian packages as root
	.ci/run

# Each proof is also a make target.
PROOFS ?= test-long race-long fleet simulate hostile browser oidc tools rules cross release-check fuzz containers
.PHONY: prove
prove: ## run the slow proofs, some hours; one line each (PROOFS="fleet fuzz" runs some)
	@.ci/prove $(PROOFS)
