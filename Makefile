# The commands of this repository; `make` alone lists them.
# Needed: Go, Python 3 with pip (fetches Envoy once), make.

GO       ?= go
# A number of inputs, not a time: at a time's end Go 1.26 may call a sound test failed
# (golang/go#75804).
FUZZTIME ?= 5000x
# How many times as much as in `make test` the random tests do in `make random`.
TIMES    ?= 6
# How many packages are tested at once. Tests wait for Envoys, files and timeouts half of their
# time, so that more than one for each core keeps two cores busy.
AT_ONCE  ?= 4
# The tests of one package that run beside each other: those that call t.Parallel wait for most of their time.
PARALLEL ?= 8
# How tests are built: without the debugger's tables, linking takes a third less. `make lint` vets.
BUILD     = -ldflags=-w -vet=off
# The environment of tests. Their heaps are small: with less garbage collection they take a fifth less CPU time.
TEST_ENV  = GOGC=300
# The packages whose tests take longest begin first: they wait while others are compiled.
LONGEST   = ./watcher ./server/cli ./server ./translate ./server/differ
# The Envoys of `make envoys`: one of each minor version that is served, but for the one of all other
# tests. envoy/get-envoy has their hashes.
ENVOYS   ?= 1.37.0 1.38.3 1.39.3
# What they run besides the cases: host mode, and edits of listeners.
OLDER     = ^(TestHostMode.*|TestAddressesMove.*|TestAnEditOf(AListener|AStream|Hostnames).*|TestAListenerThatMadeWay.*)$$
# The first seed of `make differ`.
SEED     ?= 1
# Built from source through Go's own checksums: nothing else needs to be installed.
GOLANGCI  = $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
# Writes the CRDs of our kinds. Its version goes with that of k8s.io/apimachinery in go.mod:
# controller-tools 0.21 is built on Kubernetes 0.36.
CONTROLLER_GEN = $(GO) run sigs.k8s.io/controller-tools/cmd/controller-gen@v0.21.0
CRDS      = store/api/crds
# A module of its own: what the conformance suite needs stays out of the server.
SUITE     = envoy/conformance
# A module of its own: it checks without compiling that the code is sound for another operating system.
TYPECHECK = .ci/typecheck
# How much `make bench` measures: quick takes about 3 minutes, usual 15, full an hour.
BENCH    ?= usual
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null)
COMMIT   ?= $(shell git rev-parse HEAD 2>/dev/null)
LDFLAGS   = -s -w $(if $(VERSION),-X github.com/gatefold/gatefold/server/cli.version=$(VERSION)) \
            $(if $(COMMIT),-X github.com/gatefold/gatefold/server/cli.commit=$(COMMIT))

# Everything but `make race` is built as releases are, without C: dependencies are compiled once for all targets.
export CGO_ENABLED = 0

.PHONY: site help build run envoy envoys test go-packages suite release packages-test race random conformance compose check lint tidy generate generated fuzz fuzz-long differ plans hostile hostile-streams bench clean

help: ## List these commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

build: ## Build bin/gatefold and bin/echo, the example backend
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/ . ./examples/echo

run: build envoy ## Serve a copy of examples/quickstart through a real Envoy, until Ctrl-C
	@examples/run.sh

envoy: ## Fetch the Envoy that tests and `make run` use
	@envoy/get-envoy >/dev/null

test: envoy ## Run every test against a real Envoy; beside it the conformance suite with short waits
	$(MAKE) --no-print-directory -j2 go-packages suite

go-packages: envoy
	GATEFOLD_ENVOY="$$(envoy/get-envoy)" $(TEST_ENV) $(GO) test $(BUILD) -p $(AT_ONCE) -parallel $(PARALLEL) -timeout 30m $(LONGEST) ./...

envoys: ## Run the cases and examples, host mode and edits of listeners on each older Envoy that is served (ENVOYS="1.37.0 1.38.3 1.39.3")
	@for version in $(ENVOYS); do \
	  path="$$(GATEFOLD_ENVOY= GATEFOLD_ENVOY_VERSION=$$version envoy/get-envoy)" && echo "Envoy $$version" && \
	  GATEFOLD_ENVOY="$$path" $(GO) test $(BUILD) -count=1 -timeout 30m -run '^TestCasesOnARealEnvoy$$' ./server && \
	  GATEFOLD_ENVOY="$$path" $(GO) test $(BUILD) -count=1 -timeout 30m -run '$(OLDER)' ./server ./server/cli || exit 1; done

# It waits for most of its 70 seconds.
suite: envoy
	cd $(SUITE) && GATEFOLD_ENVOY="$$(../get-envoy)" $(TEST_ENV) $(GO) test $(BUILD) -count=1 -timeout 20m ./...

# Without the race detector: package translate and those below it, which start no goroutine (TestTranslateStartsNoGoroutine);
# package examples, which reads documents; package envoy/bench, which measures processes.
RACED = $(filter-out ./translate,$(LONGEST)) $$($(GO) list ./... | grep -v -e /translate -e '/examples$$' -e '/envoy/bench$$')
# These tests do one thing after the other, often a very large thing: commands, each a process, of which those of
# TestScripts are most; changes of a folder, each followed before the next; files for a program that is built without
# the detector; cases, sent one by one; fields, documents and plans, tried one by one; the memory, the tries and the
# sizes of pages that thousands of objects take.
SEQUENTIAL = ^(TestScripts|TestGuides.*|TestFaults.*|TestHostileFiles.*|TestCasesOnARealEnvoy|TestNoFieldCarriesWhatEnvoyRejects|TestRulesWithoutCounting|TestJSONSchema.*|TestBombs|TestCheckedIsWhatWasRead|TestHostileTextsAreText|TestPlan.*|TestRandomTablesEndSound|TestACompiledTableIsServed.*|TestForgettingNamesIsLinear|TestNothingIsKeptOf.*|TestTriesAreBounded|TestPagesAreBounded|TestSelectionsAreBounded|TestAPageIsReadToABound)$$

race: envoy ## Run the tests of all packages that start goroutines with the race detector
	GATEFOLD_ENVOY="$$(envoy/get-envoy)" CGO_ENABLED=1 $(TEST_ENV) $(GO) test $(BUILD) -p $(AT_ONCE) -parallel $(PARALLEL) -race -short -timeout 45m -skip '$(SEQUENTIAL)' $(RACED)

random: envoy ## Run the random tests TIMES (6) times as long; GATEFOLD_SEED=N makes other folders, edits and requests
	GATEFOLD_ENVOY="$$(envoy/get-envoy)" .ci/random $(TIMES)

conformance: envoy ## Run the Gateway API conformance suite with its own timeouts, and write the report
	cd $(SUITE) && GATEFOLD_ENVOY="$$(../get-envoy)" $(GO) test -count=1 -timeout 0 -v -run TestConformance . -record
	cd $(SUITE) && $(GO) test -count=1 -run TestReadme . -update

compose: envoy ## Start docker-compose.yaml and use it (Docker, or root and dockerd)
	GATEFOLD_COMPOSE=1 GATEFOLD_ENVOY="$$(envoy/get-envoy)" $(GO) test -count=1 -v -timeout 40m -run TestCompose ./examples/composetest

check: build test envoys race compose lint tidy generated fuzz random ## Everything that CI runs, and the random tests longer

lint: ## Style, import direction and budgets, by .golangci.yaml; and that its types are sound on macOS
	$(GOLANGCI) run
	cd $(TYPECHECK) && $(GO) run . darwin ../..
	cd $(SUITE) && $(GOLANGCI) run
	cd $(TYPECHECK) && $(GOLANGCI) run

tidy: ## Fail when go.mod or go.sum would change
	$(GO) mod tidy -diff
	cd $(SUITE) && $(GO) mod tidy -diff
	cd $(TYPECHECK) && $(GO) mod tidy -diff

generate: ## Write the CRDs of gateway.kgateway.dev from the Go types of store/api, and the schemas that are embedded
	$(CONTROLLER_GEN) crd paths=./store/api output:crd:dir=$(CRDS)
	UPDATE=1 $(GO) test $(BUILD) -count=1 -run TestEmbeddedVersions ./store/schema

# `make test` compares the embedded schemas with the CRDs.
generated: ## Fail when `make generate` would change a CRD (a few seconds)
	@rm -rf .cache/crds && mkdir -p .cache/crds
	$(CONTROLLER_GEN) crd paths=./store/api output:crd:dir=.cache/crds
	diff -ru $(CRDS) .cache/crds

fuzz: ## Run each fuzz test on FUZZTIME inputs (5000x)
	@.ci/fuzz $(FUZZTIME)

fuzz-long: ## Run each fuzz test on a million inputs: a night's work
	@.ci/fuzz 1000000x

differ: envoy ## Compare explain with a real Envoy on 200,000 random requests: 10 seeds from SEED (1) on
	export GATEFOLD_ENVOY="$$(envoy/get-envoy)"; for n in 0 1 2 3 4 5 6 7 8 9; do \
	  GATEFOLD_SEED=$$(($(SEED) + n)) GATEFOLD_TIMES=3 $(GO) test -count=1 -v -timeout 1h -run TestExplainIsWhatEnvoyDoes ./server/differ || exit 1; done

plans: envoy ## Compare `gatefold plan` with explain and a real Envoy on 1,000 edits and 250,000 requests
	GATEFOLD_ENVOY="$$(envoy/get-envoy)" GATEFOLD_TIMES=64 $(GO) test -count=1 -v -timeout 3h -run "TestPlan" ./server/differ

hostile: ## Put 4,000 random attacks beside an innocent team; GATEFOLD_SEED makes others
	GATEFOLD_TIMES=200 $(GO) test -count=1 -v -timeout 3h -run "TestHostileFolders|TestHostileKinds" ./translate

hostile-streams: envoy ## Serve hostile xDS clients beside a real Envoy for about an hour
	GATEFOLD_ENVOY="$$(envoy/get-envoy)" GATEFOLD_TIMES=500 $(GO) test -count=1 -v -timeout 3h -run TestHostileStreams ./server

bench: envoy ## Measure edits, starts, memory, fan-out and lookup: one table of ratios (BENCH=quick, usual or full)
	cd envoy/bench && $(GO) vet . && GATEFOLD_ENVOY="$$(../get-envoy)" $(GO) test -count=1 -timeout 0 -run TestBench -size=$(BENCH)

release: ## Make a release into dist/: binaries, deb, rpm, SBOMs, SHA256SUMS (VERSION=1.2.3)
	GO="$(GO)" packaging/release "$(VERSION)"

packages-test: ## Make a release twice, compare, and install, use, upgrade under load and remove it in a chroot (root, Debian)
	GO="$(GO)" packaging/test

SITE = .cache/site-tools/.installed

site: $(SITE) ## Build the documents as a website in .cache/site; a link that leads nowhere fails
	NO_MKDOCS_2_WARNING=1 .cache/site-tools/bin/mkdocs build --strict --quiet --config-file .ci/site/mkdocs.yaml

$(SITE): .ci/site/requirements.txt
	rm -rf .cache/site-tools
	python3 -m venv .cache/site-tools
	.cache/site-tools/bin/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	touch $@

clean: ## Remove what was built and the scratch copy of `make run`
	rm -rf bin dist .cache
