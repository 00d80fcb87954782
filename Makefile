# SPDX-License-Identifier: GPL-2.0-only

PYTHON = python3
ARGS =
KDIR = /lib/modules/$(shell uname -r)/build
MACHINE = $(shell uname -m)
AGENT_ARCHES = aarch64 mips64el powerpc64 riscv64 x86_64

BIN = $(CURDIR)/.venv/bin
# ninja would use make's jobserver, which only recipes marked + may do.
ALONE = env -u MAKEFLAGS
PIP_INSTALL = $(ALONE) PATH="$(BIN):$$PATH" $(BIN)/python -m pip install -q --disable-pip-version-check
AGENT_CC = $(shell command -v musl-gcc || echo gcc)
C_FILES = $(shell find agent bench examples kernel rtscope tests setup -name '*.[ch]')
# Number of tests at once: one more than there are CPUs, because each of them waits at times.
SHARED = --numprocesses $(shell expr $$(nproc) + 1) --dist worksteal
INSTALLED_FILES = $(shell find agent cross kernel rtscope setup -type f -not -path '*/__pycache__/*') \
	meson.build meson.options $(wildcard README.md)

# Date in built files: the same commit always gives the same files.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || date +%s)
export NINJA = $(BIN)/ninja

.PHONY: help measure check agent agents modules bench check-kernels check-long docs outputs \
	site man dist deb image rpm format clean \
	packages-measure packages-agents packages-check packages-kernels lint units pytest FORCE
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif

help: ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/make \1\t\2/p' Makefile | expand -t 20

measure: packages-measure .venv/.installed ## Measure this computer for a minute; ARGS="--budget 'max<50us'" adds options
	$(BIN)/rtscope measure --duration 30s --load idle --load mixed $(ARGS)

# mypy and some builds use one CPU each, so these run side by side; the tests need all CPUs.
check: packages-check .venv/.installed .venv/.check agent ## Run every check and test
	$(MAKE) --no-print-directory --jobs=$(shell nproc) --output-sync=target SIDE_BY_SIDE=1 lint units agents
	$(MAKE) --no-print-directory pytest

agent: build/native/build.ninja ## Build the agent for this machine, build/native/rtscope-agent
	$(ALONE) $(NINJA) --quiet -C build/native

agents: packages-agents $(AGENT_ARCHES:%=build/agents/%/rtscope-agent) ## Build the agent for each architecture, build/agents/ARCH/rtscope-agent

modules: ## Build the kernel modules for the running kernel, or for KDIR, build/modules/NAME.ko
	@setup/modules $(KDIR) $(CURDIR)/build/modules

bench: packages-kernels agent .venv/.installed .venv/.check ## Compare with cyclictest, and time what must be fast
	for bench in bench/*.py; do $(BIN)/python $$bench || exit; done

check-kernels: packages-kernels agent agents .venv/.installed .venv/.check ## Build the kernels of the lab and run the tests that need them (first time: 50 min)
	$(BIN)/python -m pytest $(SHARED) -m kernels $(ARGS)

check-long: packages-kernels agent agents .venv/.installed .venv/.check ## Run the tests marked long (hours)
	$(BIN)/python -m pytest $(SHARED) -m long $(ARGS)
	$(BIN)/python -m pytest $(SHARED) -m "hypothesis and not long and not kernels" --hypothesis-profile=search

docs: agent .venv/.check ## Regenerate the tables of docs/reference and the schema of run files
	$(BIN)/python -m rtscope.wording.options docs/reference/probe/*.md
	$(BIN)/python -m rtscope.wording.plans docs/reference/plans.md
	$(BIN)/python -m rtscope.report.exchange.states docs/reference/formats.md
	$(BIN)/python -m rtscope.store.schema > docs/reference/run.schema.json

outputs: .venv/.installed .venv/.check ## Run the commands of the tutorial and write their outputs into it again
	$(BIN)/python -m tests.cli.fresh docs/tutorial/*.md

site: .venv/.check ## Build the documentation as a site that works offline, build/site
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/site

man: agent .venv/.installed ## Write the man pages, build/man/man1 and man5
	rm -rf build/man
	$(BIN)/python -m rtscope.manual docs build/man

dist: agents man site .venv/.check ## Build the wheels and the sdist of a release from the last commit, build/dist
	+$(ALONE) setup/dist $(BIN)/python $(CURDIR)/build/agents $(CURDIR)/build/man \
		$(CURDIR)/build/site $(CURDIR)/build/dist

deb: packages-kernels ## Build the Debian packages of the last commit in a bare Debian 13, build/deb
	rm -rf build/deb
	setup/deb build/deb

image: deb ## Make a container image of the Debian packages, an OCI layout, build/image
	rm -rf build/image
	setup/image build/deb build/image

rpm: packages-kernels .venv/.tools ## Build the RPM packages of the last commit, build/rpm
	PATH="$(BIN):$$PATH" setup/rpm build/rpm

format: .venv/.check ## Format C and Python
	$(BIN)/clang-format -i $(C_FILES)
	$(BIN)/ruff check --fix rtscope tests bench
	$(BIN)/ruff format rtscope tests bench

clean: ## Remove build/ and .venv/
	rm -rf build .venv

packages-measure:
	@extra=$$(setup/python $(PYTHON)) && setup/packages measure -- $$extra

packages-agents:
	@extra=$$(setup/python $(PYTHON)) && setup/packages measure agents -- $$extra

packages-check:
	@extra=$$(setup/python $(PYTHON)) && setup/packages measure agents check -- $$extra

packages-kernels:
	@extra=$$(setup/python $(PYTHON)) && setup/packages measure agents check kernels -- $$extra

lint: .venv/.installed .venv/.check
	$(BIN)/ruff check rtscope tests bench
	$(BIN)/ruff format --check rtscope tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(BIN)/clang-format --dry-run -Werror --ferror-limit=3 $(C_FILES) || \
		{ echo "make format puts these C files into the project's style"; exit 1; }
	shellcheck setup/deb setup/dist setup/modules setup/musl setup/packages setup/python setup/release setup/root setup/rpm setup/series setup/sources .ci/run \
		debian/tests/agent debian/tests/lab debian/tests/measure \
		packaging/yocto/meta-rtscope/recipes-rt/rtscope-agent/files/run-ptest

units: build/units/build.ninja
	$(ALONE) $(BIN)/meson test -C build/units --print-errorlogs

# Tests that measure this computer run after those that keep its CPUs busy.
pytest: .venv/.installed .venv/.check
	$(BIN)/python -m pytest $(SHARED) --ignore tests/agent --ignore tests/cli
	$(BIN)/python -m pytest --numprocesses 3 --dist worksteal tests/agent tests/cli

.venv/.tools: pyproject.toml
	@setup/python $(PYTHON)
	$(PYTHON) -m venv .venv
	$(PIP_INSTALL) $$($(BIN)/python -c 'import tomllib; \
		print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"])')
	@touch $@

.venv/.installed: .venv/.tools $(INSTALLED_FILES)
	CC=$(AGENT_CC) $(PIP_INSTALL) --no-build-isolation .
	@touch $@

.venv/.check: .venv/.tools
	$(PIP_INSTALL) $$($(BIN)/python -c 'import tomllib; \
		extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
		print(*extras["check"], *extras["docs"], *extras["farm"], *extras["fleet"], *extras["serve"], *extras["traces"])')
	@touch $@

build/native/build.ninja: | .venv/.tools
	CC=$(AGENT_CC) $(BIN)/meson setup build/native

# With glibc, which has the sanitizers.
build/units/build.ninja: | .venv/.tools
	CC=gcc $(BIN)/meson setup build/units -Dtests=true -Ddebug=true -Doptimization=1 -Db_sanitize=address,undefined

build/agents/$(MACHINE)/rtscope-agent: agent
	@setup/musl $(MACHINE)
	@mkdir -p $(@D) && cp -u build/native/rtscope-agent $@

build/agents/%/rtscope-agent: FORCE | .venv/.tools
	@setup/musl $*
	@[ -f build/agents/$*/build.ninja ] || \
		$(BIN)/meson setup --cross-file cross/$*.ini build/agents/$*
	$(ALONE) $(NINJA) --quiet -C build/agents/$*
