# Two commands for a new machine: `make demo` and `make test`. Both need Python 3.11 or newer and nothing else.
PYTHON ?= python3
BIN = .venv-$@/bin

.PHONY: demo test docs clean

demo: ## compile one spec in a fresh virtual environment
	@rm -rf .venv-demo out/resnet50_ring
	@$(PYTHON) -m venv .venv-demo
	@$(BIN)/pip install --quiet --disable-pip-version-check .
	@$(BIN)/astrac build specs/resnet50_ring.astra -o out/resnet50_ring

test: ## lint, types, import contract and tests in a fresh virtual environment
	@rm -rf .venv-test
	@$(PYTHON) -m venv .venv-test
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/astrac docs --check
	$(BIN)/pytest -q -n auto

docs: ## regenerate everything that is generated and compared in CI
	astrac docs

clean:
	rm -rf .venv-demo .venv-test out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
