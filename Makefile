# make demo   hear something        make test   ruff, mypy and the tests
# make prove  the full matrix       make bench  measure speed and memory beside PyTorch and ONNX Runtime
# make clean  remove what the others made
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: demo test prove bench clean

demo: $(INSTALLED)
	$(BIN)/python -m exporter.cli.demo

test: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -m "not slow" tests

# Takes hours; what the fidelity tests measure becomes docs/proof.md.
prove: $(INSTALLED)
	KOKORO_EXPORT_PROOF=docs/proof.md $(BIN)/python -m pytest tests

# Takes about half an hour on an idle machine, and means nothing on a busy one; writes docs/bench.*.
bench: $(INSTALLED)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python -m exporter.bench

# A file in the environment stands for it, so that a second run starts at once.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys, exporter; sys.exit(None if sys.version_info[:2] in exporter.PYTHONS else \
	"The pinned packages need Python 3.11 or 3.12, and this is %d.%d. Try: make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[export,test]'
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis bundles/demo hello.wav
	find exporter runtime_min tests -name __pycache__ -prune -exec rm -rf {} +
