# SPDX-License-Identifier: BSD-3-Clause
"""Examples of the docstrings and of the guide, and annotations."""
import doctest
import importlib
import importlib.util
import os
import pkgutil
import re
import subprocess
import sys
import unittest
from pathlib import Path

import echelon

ROOT = Path(__file__).resolve().parents[2]


class Documents(unittest.TestCase):
    def test_docstrings(self):
        names = ["echelon"] + [f"echelon.{module.name}" for module in pkgutil.iter_modules(echelon.__path__)]
        attempted = 0
        for name in names:
            if name in ("echelon._core", "echelon.__main__", "echelon.jax", "echelon.torch"):  # the last two have tests
                continue
            with self.subTest(name):
                result = doctest.testmod(importlib.import_module(name))
                self.assertEqual(result.failed, 0)
                attempted += result.attempted
        self.assertGreater(attempted, 40)

    def test_guide(self):
        pages = ["docs/python.md", "docs/coming-from.md", "README.md"]
        pages += [str(page.relative_to(ROOT)) for page in (ROOT / "docs/tutorials").glob("*.md") if page.name != "gpu.md"]
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(ROOT)  # the tutorials read data/
        for page in pages:
            with self.subTest(page):
                blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
                examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
                result = doctest.DocTestRunner().run(examples)
                self.assertEqual(result.failed, 0)
                self.assertGreater(result.attempted, 4)

    def test_public_names_have_docstrings(self):
        for module in (echelon, echelon.linalg, echelon.graph):
            for name in module.__all__:
                thing = getattr(module, name)
                if callable(thing):
                    self.assertTrue(thing.__doc__, name)

    @unittest.skipIf(importlib.util.find_spec("mypy") is None, "mypy is missing (scripts/python-environment)")
    def test_annotations(self):
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        result = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", os.devnull, "python/echelon"], cwd=ROOT, text=True,
                                capture_output=True, env=environment)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
