# make demo           hear something
# make check          ruff, mypy and the unit tests, for every change: 90 seconds on 2 idle cores
# make test           ruff, mypy and the tests: about 14 minutes on 2 cores with empty caches, 7 with filled ones
# make test-machines  the tests on emulated processors, systems and GPUs
# make prove          all tests, with the full matrix of utterances
# make fuzz           feed the readers and the C library what reaches new code, for a minute each
# make bench          measure speed and memory beside PyTorch, ONNX Runtime and sherpa-onnx
# make bench-web      measure a bundle in Chromium beside kokoro-js and ONNX Runtime Web
# make dist           build the distributions of the runtime and the exporter, and install and try them
# make clean          remove what the others made, but no bundle
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXPORTER := $(VENV)/.exporter
INSTALLED := $(VENV)/.installed
COMPILED := $(VENV)/.compiled
# Three processes for two cores, because tests wait for others; the files are begun in their order.
WORKERS ?= 3
# Python keeps the modules that it compiles, whatever the caller's environment says: tests start hundreds of processes,
# and each that imports torch would compile it again for four seconds.
export PYTHONDONTWRITEBYTECODE :=

# Tests that compile nothing and start few processes.
UNITS := $(addprefix tests/runtime_min/,bundle_command format model output speech text) \
	$(addprefix tests/exporter/,cli export parity text) tests/test_imports.py tests/test_documents.py
# numpy's threads spin between two calls.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: demo check test types tests test-machines prove fuzz bench bench-web dist clean

demo: $(EXPORTER)
	$(BIN)/python -m exporter.cli.demo

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(PYTEST) --quiet -m "not e2e and not slow and not machines" $(UNITS)

# mypy runs beside the tests, which wait for others now and then.
test: $(INSTALLED)
	$(BIN)/ruff check .
	$(MAKE) --jobs 2 types tests

types:
	$(BIN)/mypy

tests: $(COMPILED)
	$(PYTEST) --durations 15 -m "not slow and not machines" tests

# Takes 20 minutes with empty caches; emulated machines come from Debian's and Python's registries.
test-machines: $(INSTALLED)
	$(PYTEST) -m "machines and not slow" tests

# Takes hours; what the fidelity tests measure becomes docs/measured/proof.md. KOKORO_EXPORT_FUZZ_SECONDS, 600 by
# default, is the time of each harness of the C library.
prove: $(INSTALLED)
	rm -rf build/proof
	KOKORO_EXPORT_PROOF=docs/measured/proof.md $(PYTEST) tests

# The corpus is stored in tests/fuzz/corpus; what fails, in build/fuzz. The C library needs Debian's registry, for clang.
FUZZ_SECONDS ?= 60
fuzz: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable . --editable './exporter[fuzz]'
	$(BIN)/python -m tests.fuzz $(FUZZ_SECONDS) --keep

# Takes an hour on two idle cores with empty caches, and means nothing on a busy machine.
# Writes docs/measured/bench.* and the tables that docs/speed.md and README.md quote.
bench: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable . --editable './exporter[bench]'
	$(BIN)/python -m benchmarks

# Takes half an hour; Chromium and npm come from the system. Writes docs/measured/web.md.
bench-web: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable . --editable './exporter[bench]'
	$(BIN)/kokoro-export bundle --target web --checkpoint packages --output build/bench-web
	$(BIN)/python -m benchmarks.web build/bench-web

# The wheels and source archives in dist/; the tests need a package registry.
dist: $(INSTALLED)
	rm -rf dist *.egg-info exporter/*.egg-info
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable . --editable './exporter[dist]'
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --outdir dist exporter
	$(BIN)/python -m twine check --strict dist/*
	KOKORO_EXPORT_DIST=dist $(PYTEST) tests/test_distributions.py

# A file in the environment stands for it, so that a second run starts at once. The demo needs no packages of the
# tests, and Python compiles the modules that it imports sooner than pip compiles all of them. Without the variable
# setuptools warns of editable packages.
INSTALL := PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable .

$(EXPORTER): $(VENV)/.created
	$(INSTALL) --editable ./exporter
	touch $@

$(INSTALLED): $(VENV)/.created
	$(INSTALL) --editable './exporter[test]'
	touch $(EXPORTER) $@

# The largest packages: otherwise each process of the tests compiles them, at the same time as the others.
$(COMPILED): $(INSTALLED)
	$(BIN)/python -c "import kokoro, lief, torch, tvm"
	touch $@

# A new pip takes half the time of Python 3.11's; without a registry that has it, the old one does.
$(VENV)/.created: pyproject.toml exporter/pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys, exporter; sys.exit(None if sys.version_info[:2] in exporter.PYTHONS else \
	"The pinned packages need Python 3.11 or 3.12, and this is %d.%d. Try: make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	-$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info exporter/build exporter/*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis hello.wav
	find benchmarks exporter runtime_min tests -name __pycache__ -prune -exec rm -rf {} +
