# SPDX-License-Identifier: BSD-3-Clause
# Short commands for the CMake presets; `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help packages demo build test bench format format-check tidy clean

export CTEST_PARALLEL_LEVEL ?= $(shell nproc)
sources = $(shell git ls-files '*.h' '*.hpp' '*.c' '*.cpp' '*.cuh' '*.cu')

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

packages:
	@scripts/install-packages build

demo: packages ## install the packages, build, and solve three real matrices
	@scripts/demo

build: packages ## install the packages and build everything for the host
	cmake --preset release
	cmake --build --preset release

test: ## install the packages, build, and run every test
	@scripts/install-packages build test
	-@scripts/python-environment
	cmake --preset release
	cmake --build --preset release
	ctest --preset release

bench: packages ## build the benchmarks into build/release/bin
	cmake --preset release -DECHELON_BUILD_BENCHMARKS=ON
	cmake --build --preset release

format: ## format the sources
	@scripts/install-packages dev
	clang-format-14 -i $(sources)

format-check: ## check the format of the sources
	@scripts/install-packages dev
	clang-format-14 --dry-run --Werror $(sources)

tidy: ## run clang-tidy on the library and the tool
	@scripts/install-packages build dev
	cmake --preset release
	@scripts/tidy build/release

clean: ## remove the build directory
	rm -rf build
