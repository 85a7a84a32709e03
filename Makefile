# `make` or `make help` lists what there is to make.

CARGO        ?= cargo
# How much of the tests that could go on for ever is run.
SIM_STATES   ?= 10000
CRASH_ROUNDS ?= 20
# Scenes of the Linux client at a time: one alone leaves a processor idle.
SCENE_JOBS   ?= 2
# For each target.
FUZZ_SECONDS ?= 3
# Optimised, because the simulation needs it, but with every assertion.
TEST_PROFILE ?= testing
DATA         ?= ./ashlar-data
# Where the demonstration listens.
PORT         ?= 4420
DISCOVERY_PORT ?= 8009
BUILT         = $(or $(CARGO_TARGET_DIR),target)
# Where .ci/run keeps the names of tests that failed, and passed when they ran again.
FLAKY         = $(BUILT)/flaky.txt
TEST         ?=
TIMES        ?= 100

export CRASH_ROUNDS SIM_STATES
check: export RUSTDOCFLAGS = -D warnings
# What the simulation frees it needs again at once: none of it goes back to the system.
simulate mutants: export MIMALLOC_PURGE_DELAY = -1

.DEFAULT_GOAL := help
.PHONY: help setup cargo build run test check unit-test loop fuzz program simulate linux-test test-all package package-twice package-test api-test metrics-test book book-test pages web web-check web-types web-test mutants bench clean

help: ## this list
	@echo "Ashlar: make TARGET"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Variables: SIM_STATES=$(SIM_STATES) CRASH_ROUNDS=$(CRASH_ROUNDS) FUZZ_SECONDS=$(FUZZ_SECONDS) SCENE_JOBS=$(SCENE_JOBS) DATA=$(DATA) PORT=$(PORT) DISCOVERY_PORT=$(DISCOVERY_PORT)"

setup: ## install what building and testing need, or say what is missing
	@scripts/setup

build: cargo ## the release binary
	$(CARGO) build --release -p ashlar

cargo:
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: README.md says how to get Rust" >&2; exit 1; }

run: build ## serve a demonstration pool from DATA, and measure it
	@$(BUILT)/release/ashlar demo --state $(DATA) --listen 127.0.0.1:$(PORT) --discovery 127.0.0.1:$(DISCOVERY_PORT)

# One after the other: each of them uses every processor.
# What passed only when it ran again is told first: it is mended before anything else.
test: setup ## what holds a change back: check, all tests, fuzzing, simulation, the Linux client
	@! [ -s $(FLAKY) ] || sed 's/^/FLAKY, by the last run: /' $(FLAKY)
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory unit-test
	@$(MAKE) --no-print-directory book-test
	@$(MAKE) --no-print-directory fuzz
	@$(MAKE) --no-print-directory simulate
	@$(MAKE) --no-print-directory linux-test
	@echo "All tests have passed."

# These need what `test` does not: Python packages, Prometheus, Node with a Chromium, a clean Debian.
test-all: ## test, and then api-test, metrics-test, web-test, package-twice and package-test
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory api-test
	@$(MAKE) --no-print-directory metrics-test
	@$(MAKE) --no-print-directory web-test
	@$(MAKE) --no-print-directory package-twice
	@$(MAKE) --no-print-directory package-test
	@echo "All tests have passed, and those that need other programs."

check: ## formatting, lints, dependencies, walls, lengths, mutants' patches, documentation
	$(CARGO) fmt --all --check
	$(CARGO) metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml > /dev/null
	scripts/check-walls
	scripts/check-promises
	scripts/check-lengths
	scripts/check-mutants --applies
	scripts/check-deny
	$(CARGO) clippy --workspace --all-targets --profile $(TEST_PROFILE) -- -D warnings
	$(CARGO) doc --workspace --no-deps --profile $(TEST_PROFILE)

unit-test: ## the tests of all crates, with CRASH_ROUNDS kills of a real daemon
	scripts/unit-test $(TEST_PROFILE)

loop: ## TEST (a part of its name, or scene:NAME) TIMES times beside two busy processes
	@scripts/loop $(TEST_PROFILE) '$(TEST)' $(TIMES)

fuzz: ## FUZZ_SECONDS of hostile bytes for each fuzz target, guided by coverage
	scripts/fuzz --bounded --sanitizer none --seconds $(FUZZ_SECONDS)

# As tests of the workspace, what they depend on is built as unit-test has it, not once more with fewer
# features.
simulate: cargo ## SIM_STATES crash states of the whole store, and which circumstances they have met
	$(CARGO) test --workspace --bin sim --profile $(TEST_PROFILE) -- \
		--ignored --exact --nocapture tests::as_many_states_as_sim_states_says

program: cargo
	$(CARGO) test --workspace --test daemon --no-run --profile $(TEST_PROFILE)

linux-test: program ## the Linux kernel's NVMe/TCP client, in QEMU, against the daemon
	JOBS=$(SCENE_JOBS) ASHLAR=$(BUILT)/$(TEST_PROFILE)/ashlar tests/linux/against-ashlar

package: cargo ## a Debian package and an archive with an installer, in target/package
	scripts/package

# Of what is committed, by one program: to build that twice takes half an hour.
package-twice: program ## the package of one program, made in two clones of the commit: the same bytes
	@scripts/setup package
	scripts/package --twice --binary $(BUILT)/$(TEST_PROFILE)/ashlar

package-test: program ## the package in a clean Debian with systemd, in QEMU: install, upgrade, purge
	@scripts/setup package
	tests/package/run --binary $(BUILT)/$(TEST_PROFILE)/ashlar

api-test: program ## the API as others' tools meet it: its document, schemathesis, a generated client
	ASHLAR=$(BUILT)/$(TEST_PROFILE)/ashlar tests/api/run

metrics-test: program ## the metrics as a real Prometheus meets them, and the rules that come with them
	@scripts/setup metrics
	$(CARGO) build --profile $(TEST_PROFILE) -p ashlar-load --example one_host
	ASHLAR=$(BUILT)/$(TEST_PROFILE)/ashlar ONE_HOST=$(BUILT)/$(TEST_PROFILE)/examples/one_host tests/metrics/run

book: ## docs/ as HTML, in target/book: every link in it leads somewhere
	@scripts/setup book
	scripts/book

book-test: program ## every command of the book and of README.md, against a real daemon; its HTML if mdBook is there
	ASHLAR=$(BUILT)/$(TEST_PROFILE)/ashlar tests/book/run
	@if command -v mdbook >/dev/null; then scripts/book; \
	else echo "book: SKIPPED: mdBook is missing, so no HTML was made (make book installs it)" >&2; fi

# A test of the program holds the pages to what it prints.
pages: program ## the pages of docs/ that the program writes
	for page in commands api-reference configuration metrics events; do \
		$(BUILT)/$(TEST_PROFILE)/ashlar man --page $$page > docs/$$page.md || exit 1; done

web: ## the dashboard, in web/dist: its sources checked, tested and built
	scripts/web build

web-check: ## whether web/dist is what the sources of the dashboard make
	scripts/web check

web-types: program ## the types of the dashboard, of what the daemon says of its API
	ASHLAR=$(BUILT)/$(TEST_PROFILE)/ashlar scripts/web types

web-test: program ## the dashboard in a Chromium, against a real daemon
	@scripts/setup web
	ASHLAR=$(BUILT)/$(TEST_PROFILE)/ashlar scripts/web test

mutants: ## every invariant broken on purpose: the simulation has to notice (an hour or more)
	scripts/check-mutants

# The second program is the same with an allocator that counts, which no figure but its own is to pay for.
bench: build ## the speed of the layers, as tables and as JSON
	$(CARGO) build --release -p ashlar-bench
	@$(BUILT)/release/ashlar-bench --json-file $(BUILT)/bench.json
	$(CARGO) run --release -p ashlar-bench --example count_allocations -- --only allocations

clean: ## what was built; DATA stays
	$(CARGO) clean
