#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What cannot be run here, checked by reading: recipes for conda and Spack, CITATION.cff and the versions that are written
in several places.

Usage: recipes_test.py SOURCE_DIRECTORY [unittest arguments]
"""
import ast
import pathlib
import re
import sys
import tomllib
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
CMAKE = "\n".join(path.read_text() for path in [ROOT / "CMakeLists.txt", ROOT / "python/CMakeLists.txt",
                                                *sorted((ROOT / "cmake").glob("*.cmake"))])
VERSION = re.search(r"project\(echelon VERSION ([\d.]+)", CMAKE)[1]
# Variables of CMake itself, and of FindBLAS and FindLAPACK.
OTHERS = {"BLAS_LIBRARIES", "LAPACK_LIBRARIES", "CMAKE_CUDA_ARCHITECTURES", "CMAKE_CXX_FLAGS_RELEASE"}


class Recipes(unittest.TestCase):
    def check_options(self, names):
        options = set(re.findall(r"(?:option\(|set\()(\w+)", CMAKE)) | OTHERS
        self.assertTrue(names)
        self.assertEqual(set(names) - options, set())

    def test_conda(self):
        recipe = (ROOT / "packaging/conda/recipe.yaml").read_text()
        self.check_options(re.findall(r"-D([A-Z]\w+)=", recipe))
        self.assertIn(f'version: "{VERSION}"', recipe)
        components = re.findall(r"--component ([\w-]+)", recipe)
        written = "\n".join(path.read_text() for path in ROOT.glob("*/CMakeLists.txt")) + CMAKE
        written += (ROOT / "apps/echelon/CMakeLists.txt").read_text()
        self.assertTrue(components)
        for component in components:
            self.assertIn(f"COMPONENT {component}", written)

    def test_spack(self):
        text = (ROOT / "packaging/spack/packages/echelon/package.py").read_text()
        tree = ast.parse(text)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        named = {"define": [], "define_from_variant": [], "variant": [], "version": []}
        for call in calls:
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            if name in named:
                named[name].append([argument.value for argument in call.args if isinstance(argument, ast.Constant)])
        self.check_options([words[0] for words in named["define"] + named["define_from_variant"]])
        variants = {words[0] for words in named["variant"]} | {"cuda"}
        self.assertEqual({words[1] for words in named["define_from_variant"]} - variants, set())
        self.assertEqual(named["version"], [[VERSION]])

    def test_cuda_wheel(self):
        """The wheel with CUDA is built as the other one, but for CUDA and the name of its package."""
        host, cuda = (tomllib.loads((ROOT / folder / "pyproject.toml").read_text()) for folder in ("", "packaging/cu13"))
        options, added = ({**project["tool"]["scikit-build"]["cmake"]["define"]} for project in (host, cuda))
        self.check_options(added)
        self.assertEqual(added.pop("ECHELON_UNITY"), options.pop("ECHELON_UNITY") + ";CUDA")
        self.assertEqual(added.pop("ECHELON_CUDA"), "ON")
        folder = added.pop("ECHELON_PYTHON_PACKAGE")
        self.assertTrue((ROOT / "packaging/cu13" / folder / "__init__.py").exists())
        self.assertIn(f'"{folder}"', (ROOT / "python/echelon/_extension.py").read_text())
        added.pop("CMAKE_CUDA_ARCHITECTURES")
        self.assertEqual(added, options)
        self.assertEqual(cuda["build-system"], host["build-system"])
        self.assertEqual(cuda["project"]["version"], VERSION)
        self.assertIn(f"echelon-solvers == {VERSION}", cuda["project"]["dependencies"])
        self.assertEqual(host["project"]["optional-dependencies"]["cuda13"], [f"{cuda['project']['name']} == {VERSION}"])

    def test_versions(self):
        self.assertIn(f"\nversion: {VERSION}\n", (ROOT / "CITATION.cff").read_text())
        self.assertIn(f'version = "{VERSION}"', (ROOT / "julia/Echelon.jl/Project.toml").read_text())
        self.assertIn(f"## [{VERSION}]", (ROOT / "CHANGELOG.md").read_text())


if __name__ == "__main__":
    unittest.main()
