# The commands of development; `make help` lists them. CONTRIBUTING.md explains each.
.DEFAULT_GOAL := help
.PHONY: help install check test nightly quick goldens docs clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

install: ## install polygym in place, with all that development needs
	pip install --quiet --constraint constraints.txt --editable '.[dev]'

check: ## lint, format and types: what must hold before a commit
	ruff check .
	ruff format --check .
	mypy

test: ## the README's test command, word for word: every test, what takes times alone at the end
	@command=$$(sed -n '/<!-- test command -->/,/```$$/p' README.md | sed -n '/^pip /p'); \
	[ -n "$$command" ] || { echo "README.md holds no test command" >&2; exit 1; }; \
	echo "$$command"; bash -euo pipefail -c "$$command"

nightly: ## all tests: soaks, notebooks, films, nodes of Ray, all cases of what rotates, whole programs
	POLYGYM_NIGHTLY=1 python -m pytest -n 2 -m "not timing" --record-durations
	POLYGYM_NIGHTLY=1 python -m pytest -m timing
	PYTHONPATH=. python benchmarks/whole_programs.py --seed $$(date +%j) --out build/whole_programs

quick: ## tests of the architecture and of what is pure; a minute
	python -m pytest -q -n 2 -m "not timing" tests/test_layering.py tests/ir tests/poly tests/mdp

goldens: ## write the golden files from what is found now; read the difference before you commit it
	python -m pytest -q -n 2 --update-golden tests -k golden
	git diff --stat -- tests/golden

docs: ## build the documentation site into build/site, with warnings as errors
	python -m mkdocs build --strict --site-dir build/site
	@echo "the site is in build/site; its search needs a server: python -m http.server --directory build/site"

clean: ## remove what was built
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
