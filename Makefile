# make demo   sets everything up, publishes a generated log privately, prints the guarantee, writes the report
# make check  sets everything up, runs linters and the fast tests
# make test   sets everything up, runs every test
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
APT := $(if $(filter 0,$(shell id -u)),apt-get,sudo apt-get)

# Compiled modules are kept: where they are not, every process that a test starts compiles all of them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup setup-dev java chromium ssh postgres demo check fast test pytest coverage lint bench bench-parts figures evidence docs supply clean

setup: $(VENV)/.core
$(VENV)/.core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[web]'
	touch $@

setup-dev: $(VENV)/.dev java chromium ssh postgres
$(VENV)/.dev: pyproject.toml lab/pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' -e ./lab
	touch $@ $(VENV)/.core

# Spark needs Java 17 or newer.
java:
	@java -version >/dev/null 2>&1 || { $(APT) update -qq && $(APT) install -y -qq default-jre-headless; }

# Reports are looked at in a real browser.
chromium:
	@command -v chromium >/dev/null 2>&1 || { $(APT) update -qq && $(APT) install -y -qq chromium; }

# Signatures of releases are compared with those of OpenSSH.
ssh:
	@command -v ssh-keygen >/dev/null 2>&1 || { $(APT) update -qq && $(APT) install -y -qq openssh-client; }

# The ledger of a team is tested on a real server, which the tests start for themselves.
postgres:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || { $(APT) update -qq && $(APT) install -y -qq postgresql; }

demo: setup
	rm -rf demo
	$(BIN)/queryveil demo --out demo

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check src tests benchmarks scripts lab
	$(BIN)/mypy

# Types are checked incrementally: only the first run takes minutes.
check: $(VENV)/.dev
	$(MAKE) --no-print-directory -j2 lint fast

fast: $(VENV)/.dev
	$(BIN)/pytest -q -n 2 --dist loadscope --no-loadscope-reorder -m "not slow"

# Side by side: the type checker would leave one core idle for minutes.
test: setup-dev
	$(MAKE) --no-print-directory -j2 lint pytest

# More than there are cores: browsers, servers and Spark leave a worker waiting.
pytest: setup-dev
	$(BIN)/pytest -n 3 --dist loadscope --no-loadscope-reorder

# Every test, traced. Kernels that Numba compiles cannot be traced and are left out of the report.
coverage: setup-dev
	$(BIN)/pytest -q -n 3 --dist loadscope --no-loadscope-reorder --cov --cov-report=term --cov-report=html

bench: setup-dev
	$(BIN)/python benchmarks/bench.py --write

bench-parts: setup-dev
	for one in noise publish reading taxonomy transactions keyword_generation measures synthesize language semantic scrubbing spotting k_session; do \
	  echo "== $$one"; $(BIN)/python benchmarks/$$one.py || exit 1; done

evidence: setup-dev
	$(BIN)/python benchmarks/evidence.py
	$(BIN)/python lab/benchmarks/study_evidence.py
	$(BIN)/python benchmarks/faults.py
	$(BIN)/python benchmarks/hostile_input.py
	$(BIN)/python benchmarks/forge_releases.py
	$(BIN)/python benchmarks/fuzz.py inputs --count 1000000 --processes 2
	QUERYVEIL_FULL_SIZE=1 $(BIN)/pytest -n 2 $$(grep -rlE 'sizes\.(FULL|chosen)' tests lab/tests --include='test_*.py')

# Licences, a bill of materials, two builds that must be the same, and the demo from the wheel in a new environment.
supply: setup-dev
	rm -rf dist
	$(BIN)/python scripts/supply_chain.py licences
	$(BIN)/python scripts/supply_chain.py install dist
	$(BIN)/python scripts/supply_chain.py bom dist/queryveil.cdx.json

docs: setup-dev
	$(BIN)/mkdocs build --strict --quiet
	$(BIN)/mkdocs build --strict --quiet -f lab/mkdocs.yml

figures: setup-dev
	$(BIN)/python lab/benchmarks/figures.py

clean:
	rm -rf $(VENV) demo site lab/site
