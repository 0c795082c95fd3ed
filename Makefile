# make demo   set everything up, run the rolling eggs, open their page, draw poster, plots and movie; all in demo/
# make environment  set everything up that the checks need
# make test   set everything up, run every check that is quick or often finds something
# make thorough  the other checks: notebooks, pages in a browser, drawn pictures, documents set in type, benchmarks in quick form
# make verify  the checks of `make test` and `make thorough` in one go, which is a minute shorter: files are collected once
# make release  what a release needs besides: types, the site and its links, the longest tests, solvers made by other compilers and
#   for other processors, sanitizers (minutes)
# make portable  the checks that compare text and tight numbers once more, as NumPy and BLAS round on the least processor of the family
# make pictures  draw every picture under docs/ anew
# make notebooks  run the notebooks of examples/ and store what they show
# make docs   set everything up, run the code of the documentation's pages, make a site of them in site/
# make campaign  set everything up, search at random for what must not happen (hours)
# make mutants  set everything up, and test the tests by mutants of the runtime (hours)
# make dist   set everything up, pack sources and wheel into dist/; ADDRESS=https://... is where the sources are in public
# make gpu    runs on a GPU: bits, runs per second, peers where they are installed; a table (one line where there is no GPU)
# make bench  set everything up, run the benchmarks
# make clean  remove the environment and everything that was generated
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PINS := setup.cfg pyproject.toml constraints.txt
INSTALL := $(BIN)/python -m docs.installation
# Dozens of processes import the same modules: what one has compiled to bytecode serves the others.
unexport PYTHONDONTWRITEBYTECODE

.DELETE_ON_ERROR:
# What is compared to the letter, or tightly, with what other programs computed; machine code has the same bits on all processors.
PORTABLE := tests/docs/test_gallery.py::test_diagrams_equal_those_that_the_code_draws tests/acceptance \
  tests/export/test_text.py
DISPATCHED = `$(BIN)/python -c "from numpy._core._multiarray_umath import __cpu_dispatch__ as d; print(*d)"`

# Tests run side by side, and their matrices are small: threads of linear algebra would only wait for one another.
ONE_THREAD = OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

# Two workers take one file after the other, in the order of tests/conftest.py: the longest first.
SHARED = -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: demo environment test thorough verify release portable pictures notebooks docs dist bench gpu campaign mutants clean

demo: $(VENV)/demo.stamp
	$(BIN)/python -m examples.rolling_eggs --out demo --open

environment: $(VENV)/dev.stamp

WHICH := -m "not release"
test: WHICH := -m "not thorough and not release"
test: verify

verify: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(ONE_THREAD) $(BIN)/python -m pytest -q $(SHARED) $(WHICH)

# Only files with such a check are collected.
thorough: $(VENV)/dev.stamp
	$(ONE_THREAD) $(BIN)/python -m pytest -q $(SHARED) -m thorough `grep -rl --include="test_*.py" mark.thorough tests`

release: $(VENV)/dev.stamp
	$(ONE_THREAD) $(BIN)/python -m pytest -q $(SHARED) -m release tests

portable: $(VENV)/dev.stamp
	$(ONE_THREAD) OPENBLAS_CORETYPE=Prescott NPY_DISABLE_CPU_FEATURES="$(DISPATCHED)" \
	  $(BIN)/python -m pytest -q $(SHARED) $(PORTABLE)

pictures: $(VENV)/dev.stamp
	$(BIN)/python -m docs.gallery
	$(BIN)/python -m docs.thumbnails

notebooks: $(VENV)/dev.stamp
	$(ONE_THREAD) $(BIN)/python -m docs.notebooks

docs: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -q tests/docs
	$(BIN)/python -m sphinx -W --keep-going -q -E -d site/.doctrees docs site
	@rm -rf jupyter_execute
	@echo "the pages are in site/index.html"

dist: $(VENV)/dev.stamp
	$(BIN)/python -m docs.distribution $(if $(ADDRESS),--address $(ADDRESS))

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks

gpu: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.gpu --write

campaign: $(VENV)/dev.stamp
	$(BIN)/python -m campaigns

mutants: $(VENV)/dev.stamp
	$(ONE_THREAD) $(BIN)/python -m campaigns.mutants

clean:
	rm -rf $(VENV) demo site docs/api docs/errors docs/examples jupyter_execute build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/made.stamp:
	@command -v $(PYTHON) >/dev/null || { echo "screwbond needs Python 3.11 or newer, and there is no '$(PYTHON)' here." \
	  "Install one, or name it: make PYTHON=/path/to/python3.13" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "screwbond needs Python 3.11 or newer; '$(PYTHON)' is" \
	  "`$(PYTHON) -V 2>&1`. Name a newer one: make PYTHON=/path/to/python3.13" >&2; exit 1; }
	@echo "making the environment $(VENV) with `$(PYTHON) -V`"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) || { echo "'$(PYTHON) -m venv' failed. On Debian and Ubuntu: apt install python3-venv" >&2; \
	  rm -rf $(VENV); exit 1; }
	@touch $@

$(VENV)/demo.stamp: $(VENV)/made.stamp $(PINS)
	@echo "installing screwbond and what its pictures need (half a minute the first time)"
	@$(INSTALL) -e ".[viz]"
	@$(BIN)/python -m screwbond warm
	@touch $@

# The development environment contains the demo's, so both are up to date after it.
$(VENV)/dev.stamp: $(VENV)/made.stamp $(PINS)
	@echo "installing screwbond and what its tests need (half a minute the first time)"
	@$(INSTALL) -e ".[dev]"
	@# Meanwhile two processes compile half of the tests to bytecode each; two workers that collect all files would do it twice.
	@for half in "tests/[!m-z]*" "tests/[m-z]* bondgraph screws models screwbond"; do \
	  $(BIN)/python -m pytest -q --collect-only $$half >/dev/null 2>&1 & done; \
	  $(BIN)/python -m screwbond warm; status=$$?; wait; exit $$status
	@touch $(VENV)/demo.stamp $@
