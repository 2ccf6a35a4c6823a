# The entry points. Everything is built under build/<preset>; `make help` lists the commands.
# Set-up is part of each command: what is missing from packages.txt is installed first.

PYTHON := /usr/bin/python3
SOURCES = $(shell find base rendezvous elastic mpi nccl launcher tests -name '*.cc' -o -name '*.h')

.PHONY: help run test build debug asan fuzz soak compat grid bench format check-format tidy clean

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make run           set up, build and run the main example: a training job that loses a node and goes on
run:
	@.ci/install build run
	@$(MAKE) --no-print-directory build
	@examples/pytorch/run_nodes.sh build/release/muster

## make build         the static binary build/release/muster, and the link build/release/torchrun
build:
	@.ci/install build
	@$(call ninja,release)

## make test          set up, build and run the tests that need only Debian's packages: unit tests, simulation, integration
test: configured
	@$(PYTHON) tests/run.py tidy build-release build-tests unit simulation integration

.PHONY: configured
configured:
	@.ci/install build run test
	@for preset in release asan tidy; do cmake --preset $$preset >/dev/null || exit; done  # also when a file or a package was added

## make asan          unit tests and short runs of every fuzz target under the sanitizers
asan: configured
	@$(PYTHON) tests/run.py build-asan unit-asan fuzz

## make debug         build product and tests for the debugger
debug:
	@.ci/install build run test
	@$(call ninja,debug)

## make compat        tests with frameworks from the package registries
compat: build
	@.ci/install compat
	@$(PYTHON) tests/run.py compat

## make grid          what the gate leaves out: faults x MPIs x transports, a soak, the long benches; takes hours. GRID=soak
GRID = tests soak bench
grid: build
	@.ci/install build run test compat
	@$(MAKE) --no-print-directory $(addprefix grid-,$(GRID))

.PHONY: grid-tests grid-soak grid-bench
grid-tests:
	@$(PYTHON) tests/run.py grid
grid-soak: soak
grid-bench: bench

## make bench         measure muster beside its peers; takes long and wants a quiet machine; ARGS="launch --quick"
bench: build
	@.ci/install build run test bench
	@$(PYTHON) tests/bench/run.py $(ARGS)

## make format        format all C++ sources
format:
	@.ci/install check
	@clang-format-14 -i $(SOURCES)

## make check-format  fail if `make format` would change something
check-format:
	@.ci/install check
	@clang-format-14 --dry-run -Werror $(SOURCES)

## make tidy          clang-tidy over all sources, see .clang-tidy
tidy: configured
	@.ci/install check
	@$(PYTHON) tests/tidy/clang_tidy.py --build build/tidy

## make fuzz          fuzz with clang's libFuzzer: make fuzz TARGET=store_protocol_fuzz SECONDS=600
FUZZ_TARGETS = $(or $(TARGET),$(basename $(notdir $(wildcard tests/fuzz/*_fuzz.cc))))
fuzz:
	@.ci/install build test fuzz
	@$(call ninja,fuzz) fuzz_targets
	@for target in $(FUZZ_TARGETS); do \
	  seeds=tests/data/corpus/$${target%_fuzz}; [ -d $$seeds ] || seeds=; \
	  mkdir -p build/fuzz/corpus/$$target; \
	  build/fuzz/tests/$$target -max_total_time=$(or $(SECONDS),60) -artifact_prefix=build/fuzz/$$target- \
	    build/fuzz/corpus/$$target $$seeds || exit 1; \
	done

## make soak          whole simulated jobs under faults, 100,000 seeds of each kind, 3/4 h on 2 CPUs: make soak SEEDS=20000 FIRST=1
SOAKS = PromisesHoldUnderFaults PromisesHoldWhereEtcdElects PromisesHoldWhereListsChange
soak:
	@$(MAKE) --no-print-directory configured
	@$(call ninja,release) simulation_test
	@printf '%s\n' $(SOAKS) | xargs -P 0 -I '{}' build/release/tests/simulation_test --gtest_filter='*.{}' \
	  --seeds $(or $(SEEDS),100000) --first $(or $(FIRST),1)

## make clean         remove everything that was built
clean:
	rm -rf build

# Configures once; ninja re-runs CMake itself when a file was added or a CMake file changed.
define ninja
	{ [ -e build/$(1)/build.ninja ] || cmake --preset $(1); } && ninja -C build/$(1)
endef
