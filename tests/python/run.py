#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run.py TESTS.py: runs the tests of a file. Exits with 77, which ctest takes as skipped, where a package is missing."""
import importlib
import sys
import unittest
from pathlib import Path

for package in ("numpy", "scipy", "nanobind_backend"):
    try:
        importlib.import_module(package)
    except ImportError as error:
        print(f"skipped, as {package} is missing (scripts/python-environment): {error}")
        sys.exit(77)

path = Path(sys.argv[1])
sys.path.insert(0, str(path.parent))
try:
    module = importlib.import_module(path.stem)
except unittest.SkipTest as reason:
    print(f"skipped: {reason}")
    sys.exit(77)
unittest.main(module=module, argv=[path.name, *sys.argv[2:]])
