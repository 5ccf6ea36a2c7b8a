#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the Debian packages of a build, installs them under a private root, uses each, and removes them.

Usage: packages_test.py CPACK BUILD_DIRECTORY SOURCE_DIRECTORY [unittest arguments]
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CPACK, BUILD, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
del sys.argv[1:4]
# dpkg changes owners, which only root and fakeroot may.
AS_ROOT = [] if os.geteuid() == 0 else ["fakeroot"]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=200, **options)
    if done.returncode:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if AS_ROOT and shutil.which("fakeroot") is None:
            raise unittest.SkipTest("neither root nor fakeroot")
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        run(CPACK, "--config", BUILD / "CPackConfig.cmake", "-B", cls.folder / "made", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
        cls.packages = {path.name.split("_")[0]: path for path in (cls.folder / "made").glob("*.deb")}
        cls.root = cls.folder / "root"
        for folder in ("updates", "info"):
            (cls.root / "var/lib/dpkg" / folder).mkdir(parents=True)
        (cls.root / "var/lib/dpkg/status").touch()
        cls.dpkg("--install", *cls.packages.values())
        cls.libraries = next((cls.root / "usr/lib").rglob("libechelon.so.*")).parent

    @classmethod
    def dpkg(cls, *arguments):
        """dpkg for the private root, which lacks the packages that these depend on."""
        return run(*AS_ROOT, "dpkg", f"--root={cls.root}", "--force-depends", "--force-not-root", "--force-script-chrootless",
                   "--log=/dev/null", *arguments)

    def library_path(self, **more):
        return {**os.environ, "LD_LIBRARY_PATH": str(self.libraries), **more}

    def field(self, package, name):
        return run("dpkg-deb", "--field", self.packages[package], name).strip()

    def test_fields(self):
        library = next(name for name in self.packages if re.fullmatch(r"libechelon\d.*", name))
        version = self.field(library, "Version")
        self.assertIn(f"libechelon.so.{library[len('libechelon'):]}", {path.name for path in self.libraries.iterdir()})
        depends = self.field(library, "Depends")
        for needed in ("libc6", "libgomp1", "libmetis5"):
            self.assertIn(needed, depends)
        for package in self.packages:
            self.assertEqual(self.field(package, "Version"), version)
            self.assertTrue(self.field(package, "Maintainer"))
            licences = (self.root / f"usr/share/doc/{package}/copyright").read_text()
            for words in ("BSD 3-Clause License", "nanobind", "SuiteSparse"):
                self.assertIn(words, licences)
            if package != library:
                self.assertIn(f"{library} (= {version})", self.field(package, "Depends"))
        self.assertEqual({"echelon", "libechelon-dev", library} - set(self.packages), set())

    def test_every_file_is_of_one_package(self):
        seen = {}
        for name, package in self.packages.items():
            for line in run("dpkg-deb", "--contents", package).splitlines():
                path = line.split(maxsplit=5)[5].split(" -> ")[0]
                if not path.endswith("/"):
                    self.assertNotIn(path, seen)
                    seen[path] = name
        for ending, package in (("bin/echelon", "echelon"), ("man1/echelon-solve.1", "echelon"), ("completions/echelon", "echelon"),
                                ("echelon/echelon.h", "libechelon-dev"), ("pkgconfig/echelon.pc", "libechelon-dev"),
                                ("libechelon.so", "libechelon-dev"), ("echelonConfig.cmake", "libechelon-dev")):
            self.assertIn(package, [name for path, name in seen.items() if path.endswith("/" + ending)], ending)

    def test_tool(self):
        text = run(self.root / "usr/bin/echelon", "solve", SOURCE / "data/orsirr_1.mtx.gz", env=self.library_path())
        self.assertIn("Solved", text)

    def compile(self, package, compiler, source):
        flags = run("pkg-config", "--cflags", "--libs", package, env={**os.environ, "PKG_CONFIG_PATH": str(self.libraries / "pkgconfig")})
        program = self.folder / pathlib.Path(source).parent.name
        run(compiler, SOURCE / source, "-o", program, *flags.split(), "-lm")
        return run(program, SOURCE / "data/bcsstk02.mtx", env=self.library_path())

    def test_programs(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("pkg-config is not installed")
        self.assertIn("backward error", self.compile("echelon-c", "cc", "examples/11_c/main.c"))
        if (self.libraries / "pkgconfig/echelon-fortran.pc").exists():
            self.assertIn("backward error", self.compile("echelon-fortran", "gfortran", "examples/12_fortran/main.f90"))

    def test_python(self):
        if "python3-echelon" not in self.packages:
            self.skipTest("the Python package was not built")
        environment = self.library_path(PYTHONPATH=str(self.root / "usr/lib/python3/dist-packages"), PYTHONDONTWRITEBYTECODE="1")
        program = "import echelon, numpy as np; print(echelon.__file__, echelon.solve(np.eye(3) * 2, np.ones(3)))"
        text = run("/usr/bin/python3", "-c", program, env=environment, cwd=self.folder)
        self.assertIn(str(self.root), text)
        self.assertIn("[0.5 0.5 0.5]", text)

    def test_zz_removal_leaves_nothing(self):
        """The last test, as its name says."""
        self.dpkg("--purge", *self.packages)
        self.assertEqual([path for path in (self.root / "usr").rglob("*") if not path.is_dir()] if (self.root / "usr").exists() else [], [])


if __name__ == "__main__":
    unittest.main()
