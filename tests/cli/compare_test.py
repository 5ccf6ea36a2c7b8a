#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""echelon compare: methods in processes of their own, to the same residual.

Usage: compare_test.py TOOL
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TOOL = ""
SOLVED, NOT_CONVERGED, USAGE, BAD_INPUT = 0, 1, 2, 3


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.grid = str(self.folder / "grid.mtx")
        self.run_tool("generate", "poisson-2d", "-p", "nx=20", "-p", "ny=20", "-o", self.grid)

    def run_tool(self, *arguments, code=SOLVED, **kwargs):
        done = subprocess.run([TOOL, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, **kwargs)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}{done.stderr}")
        return done

    def compare(self, *arguments, code=SOLVED):
        return json.loads(self.run_tool("compare", *arguments, "--json", code=code).stdout)

    def test_candidates_are_those_of_auto(self):
        found = self.compare(self.grid, "--devices", "serial")
        named = json.loads(self.run_tool("info", self.grid, "--json").stdout)["candidates"]
        self.assertEqual([result["method"].split(" ")[0] for result in found["results"]],
                         [candidate["method"] for candidate in named])
        for result in found["results"]:
            self.assertTrue(result["reached"], result)
            self.assertLessEqual(result["relative_residual"], found["tolerance"])
            self.assertGreater(result["peak_bytes"], result["bytes"])

    def test_best_has_the_least_total(self):
        found = self.compare(self.grid, "--methods", "cg,sparse-cholesky,cg/preconditioner=ic0", "--devices", "serial,openmp:2")
        self.assertEqual(len(found["results"]), 6)
        for columns, name in [("1", "total_1_seconds"), ("10", "total_10_seconds"), ("100", "total_100_seconds")]:
            best = min(found["results"], key=lambda result: result[name])
            self.assertEqual(found["best"][columns], {"method": best["method"], "device": best["device"]})
        for result in found["results"]:
            self.assertAlmostEqual(result["total_100_seconds"], result["setup_seconds"] + 10 * result["solve_10_seconds"])

    def test_failures_have_a_reason(self):
        unsymmetric = str(self.folder / "unsymmetric.mtx")
        self.run_tool("generate", "convection-diffusion-2d", "-p", "nx=12", "-p", "wind_x=50", "-o", unsymmetric)
        found = self.compare(unsymmetric, "--methods", "cg,sparse-lu,gmres/max_iterations=2")["results"]
        self.assertEqual([result["reached"] for result in found], [False, True, False])
        self.assertIn(found[0]["status"], ["max_iterations", "not_spd", "stagnated", "diverged"])
        self.assertIn("max_iterations", found[2]["status"])
        self.assertTrue(all(result["message"] for result in found if not result["reached"]))
        self.assertIsNone(found[0]["total_1_seconds"])

    def test_singular_matrix_has_no_best(self):
        singular = self.folder / "singular.mtx"
        singular.write_text("%%MatrixMarket matrix array real general\n2 2\n1\n2\n2\n4\n", encoding="utf-8")
        right = self.folder / "b.txt"
        right.write_text("1\n0\n", encoding="utf-8")
        found = self.compare(str(singular), "--rhs", str(right), "--methods", "lu", code=NOT_CONVERGED)
        self.assertEqual(found["best"], {"1": None, "10": None, "100": None})
        self.assertIn(found["results"][0]["status"], ["singular", "inconsistent"])

    def test_limit_of_time(self):
        large = str(self.folder / "large.mtx")
        self.run_tool("generate", "poisson-2d", "-p", "nx=300", "-p", "ny=300", "-o", large)
        start = time.monotonic()
        result = self.compare(large, "--methods", "jacobi/max_iterations=1000000", "--limit", "1s", "--rtol", "1e-13", "--devices",
                              "serial", code=NOT_CONVERGED)["results"][0]
        self.assertLess(time.monotonic() - start, 60)
        self.assertEqual(result["status"], "stopped")
        self.assertIn("not done after", result["message"])

    def test_limit_of_memory(self):
        large = str(self.folder / "large.mtx")
        self.run_tool("generate", "poisson-2d", "-p", "nx=130", "-p", "ny=130", "-o", large)
        result = self.compare(large, "--methods", "gauss-jordan", "--memory", "500M", "--devices", "serial",
                              code=NOT_CONVERGED)["results"][0]
        self.assertFalse(result["reached"])
        self.assertIn("memory", result["message"])

    def test_any_limit_of_memory_ends_soon(self):
        for size, code in [("20M", USAGE), ("100K", USAGE), ("200M", None), ("300M", None), ("450M", None)]:
            start = time.monotonic()
            done = subprocess.run([TOOL, "compare", self.grid, "--methods", "lu,cg", "--memory", size, "--json", "--limit", "60s"],
                                  capture_output=True, text=True, timeout=60)
            self.assertLess(time.monotonic() - start, 30, size)
            if code is None and done.returncode != USAGE:
                for result in json.loads(done.stdout)["results"]:
                    self.assertTrue(result["reached"] or "memory" in result["message"], f"{size}: {result}")
            else:
                self.assertEqual(done.returncode, USAGE, done.stderr)
                self.assertIn("each process takes", done.stderr, size)

    def test_text_and_page(self):
        page = self.folder / "page.html"
        text = self.run_tool("compare", self.grid, "--methods", "cg,lu", "--report", str(page)).stdout
        self.assertTrue(text.startswith("Fastest: "))
        self.assertIn("best for 100 right-hand sides", text)
        content = page.read_text(encoding="utf-8")
        for part in ["Total time for 10 right-hand sides", "Each method in a process of its own", "Sparsity pattern"]:
            self.assertIn(part, content)

    def test_misuse_is_refused(self):
        for arguments, message in [(["--methods", "nosuch"], "nosuch"), (["--methods", "cg/nosuch=1"], "nosuch"),
                                   (["--limit", "5x"], "--limit"), (["--limit", "0"], "--limit"), (["--memory", "4"], "--memory"),
                                   (["--report", "page.txt"], ".html"), (["--precision", "half"], "half"),
                                   (["--devices", "tpu"], "tpu")]:
            self.assertIn(message, self.run_tool("compare", self.grid, *arguments, code=USAGE).stderr)
        self.assertIn("file", self.run_tool("compare", "-", code=USAGE).stderr)
        self.run_tool("compare", str(self.folder / "missing.mtx"), code=BAD_INPUT)

    def test_option_of_the_measuring_process_is_hidden(self):
        self.assertNotIn("--run", self.run_tool("compare", "--help").stdout)
        self.assertNotIn("--run", self.run_tool("compare", "--describe").stdout)

    def test_no_process_is_left_after_an_interrupt(self):
        large = str(self.folder / "large.mtx")
        self.run_tool("generate", "poisson-2d", "-p", "nx=300", "-p", "ny=300", "-o", large)
        process = subprocess.Popen([TOOL, "compare", large, "--methods", "jacobi/max_iterations=1000000", "--rtol", "1e-13"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        end = time.monotonic() + 30
        while time.monotonic() < end and not children.read_text(encoding="ascii").split():
            time.sleep(0.05)
        child = children.read_text(encoding="ascii").split()[0]
        process.terminate()
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, NOT_CONVERGED)
        self.assertIn("interrupted", out)
        self.assertFalse(os.path.exists(f"/proc/{child}"))


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
