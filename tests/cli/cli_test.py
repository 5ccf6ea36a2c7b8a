#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the command-line tool from outside: output, files and exit status.

Usage: cli_test.py PATH_OF_THE_TOOL [unittest arguments]
"""
import functools
import gzip
import json
import math
import os
import pathlib
import pty
import random
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

TOOL = sys.argv.pop(1)

SOLVED, NOT_CONVERGED, USAGE, BAD_INPUT, NO_SOLUTION, RESOURCES = range(6)


def coordinate(rows, columns, entries, symmetry="general", field="real"):
    """A sparse matrix as Matrix Market text; `entries` are (row, column, value), numbered from 1."""
    lines = [f"%%MatrixMarket matrix coordinate {field} {symmetry}", f"{rows} {columns} {len(entries)}"]
    lines += [" ".join(str(word) for word in entry) for entry in entries]
    return "\n".join(lines) + "\n"


def array(columns):
    """A dense matrix, given by its columns, as Matrix Market text."""
    lines = ["%%MatrixMarket matrix array real general", f"{len(columns[0])} {len(columns)}"]
    lines += [repr(float(value)) for column in columns for value in column]
    return "\n".join(lines) + "\n"


def tridiagonal(n, diagonal, above, below):
    entries = []
    for i in range(1, n + 1):
        if i > 1:
            entries.append((i, i - 1, below))
        entries.append((i, i, diagonal))
        if i < n:
            entries.append((i, i + 1, above))
    return coordinate(n, n, entries)


def read_array(path):
    """Returns the columns of a dense Matrix Market file."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt") as stream:
        lines = [line for line in stream if not line.startswith("%")]
    rows, columns = (int(word) for word in lines[0].split())
    values = [float(line) for line in lines[1:]]
    assert len(values) == rows * columns
    return [values[j * rows:(j + 1) * rows] for j in range(columns)]


def dense_file(path):
    """Returns the rows of a square Matrix Market file of either kind."""
    lines = [line.split() for line in pathlib.Path(path).read_text().splitlines() if not line.startswith("%")]
    if len(lines[0]) == 2:
        return [list(row) for row in zip(*read_array(path))]
    rows = [[0.0] * int(lines[0][1]) for _ in range(int(lines[0][0]))]
    for i, j, value in lines[1:]:
        rows[int(i) - 1][int(j) - 1] = float(value)
    return rows


def product(A, B):
    return [[sum(a * b for a, b in zip(row, column)) for column in zip(*B)] for row in A]


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def spd(self, n=100):
        return self.file("spd.mtx", tridiagonal(n, 4, -1, -1))

    def run_tool(self, *arguments, code=SOLVED, **kwargs):
        done = subprocess.run([TOOL, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=120, **kwargs)
        self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}{done.stderr}")
        return done

    def report(self, *arguments, code=SOLVED):
        """Runs `solve --json`, which must print one line on stdout, and returns its JSON."""
        done = self.run_tool("solve", *arguments, "--json", code=code)
        self.assertEqual(done.stdout.count("\n"), 1)
        return json.loads(done.stdout)

    def json(self, *arguments, code=SOLVED):
        """Runs a command with --json, which must print one line on stdout, and returns its JSON."""
        done = self.run_tool(*arguments, "--json", code=code)
        self.assertEqual(done.stdout.count("\n"), 1)
        return json.loads(done.stdout)

    def error(self, *arguments, code):
        """Runs a command that fails with one line on stderr and nothing on stdout; returns the line."""
        done = self.run_tool(*arguments, code=code)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Aechelon: error: [^\n]+\n\Z")
        return done.stderr


class Usage(ToolTest):
    def test_no_arguments_prints_usage(self):
        done = self.run_tool(code=USAGE)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("usage: echelon COMMAND"))
        self.assertLess(done.stderr.count("\n"), 18)

    def test_unknown_name_suggests_nearest(self):
        matrix = self.spd()
        for arguments, wanted in [
            (["sovle", matrix], "'solve'"),
            (["--hlep"], "'--help'"),
            (["solve", matrix, "--methd", "cg"], "'--method'"),
            (["solve", matrix, "--max-iteration=5"], "'--max-iterations'"),
            (["info", matrix, "--jsn"], "'--json'"),
            (["methods", "--jsno"], "'--json'"),
            (["solve", matrix, "--method", "gmers"], "'gmres'"),
            (["solve", matrix, "--device", "opnmp"], "'openmp'"),
            (["solve", matrix, "--precision", "dobule"], "'double'"),
            (["rank", matrix, "--precision", "flaot"], "'float'"),
            (["solve", matrix, "--method", "gmres", "-p", "restrat=5"], "'restart'"),
            (["solve", matrix, "--method", "cg", "-p", "preconditioner=jacobbi"], "'jacobi'"),
            (["--help", "solver:jacobo"], "'jacobi'"),
        ]:
            with self.subTest(arguments=arguments):
                self.assertIn(f"did you mean {wanted}?", self.error(*arguments, code=USAGE))

    def test_unknown_names_without_a_similar_one_name_the_command_that_lists_them(self):
        matrix = self.spd()
        for arguments, command in [
            (["solve", matrix, "--method", "gs"], "'echelon methods'"),
            (["solve", matrix, "--method", "cg", "-p", "preconditioner=gs"], "'echelon methods'"),
            (["--help", "solver:gs"], "'echelon methods'"),
            (["generate", "x"], "'echelon generate --list'"),
        ]:
            with self.subTest(arguments=arguments):
                self.assertIn(command, self.error(*arguments, code=USAGE))

    def test_invalid_values_are_usage_errors(self):
        matrix = self.spd()
        for arguments in [
            ["solve"],
            ["solve", matrix, "another.mtx"],
            ["solve", matrix, "--rtol"],
            ["solve", matrix, "--rtol", "small"],
            ["solve", matrix, "--rtol", "-1"],
            ["solve", matrix, "--rtol", "2"],
            ["solve", matrix, "--rtol", "nan"],
            ["solve", matrix, "--atol", "inf"],
            ["solve", matrix, "--max-iterations", "-1"],
            ["solve", matrix, "--max-iterations", "1.5"],
            ["solve", matrix, "--max-iterations", "99999999999999999999"],
            ["solve", matrix, "--device", "openmp:0"],
            ["solve", matrix, "--device", "openmp:"],
            ["solve", matrix, "--device", "openmp:two"],
            ["solve", matrix, "--device", "cuda:-1"],
            ["solve", matrix, "-p", "restart", "--method", "gmres"],
            ["solve", matrix, "-p", "=3", "--method", "gmres"],
            ["solve", matrix, "-p", "restart=0", "--method", "gmres"],
            ["solve", matrix, "-p", "restart=3"],
            ["solve", matrix, "-p"],
            ["solve", matrix, "--method", "cg", "--method", "gmres"],
            ["info"],
        ]:
            with self.subTest(arguments=arguments):
                self.error(*arguments, code=USAGE)

    def test_options_are_checked_before_reading(self):
        self.assertIn("gmers", self.error("solve", "missing.mtx", "--method", "gmers", code=USAGE))
        self.assertIn("restart", self.error("solve", "missing.mtx", "--method", "gmres", "-p", "restart=x",
                                            code=USAGE))

    def test_usage_error_with_json_prints_json(self):
        done = self.run_tool("solve", "--methd", "cg", "A.mtx", "--json", code=USAGE)
        error = json.loads(done.stdout)["error"]
        self.assertEqual(error["kind"], "BadOption")
        self.assertEqual(error["exit_code"], USAGE)
        self.assertEqual(error["did_you_mean"], "--method")
        self.assertIn("did you mean", done.stderr)


class Help(ToolTest):
    def test_help_goes_to_stdout(self):
        for arguments in [["--help"], ["-h"], ["help"]]:
            done = self.run_tool(*arguments)
            self.assertEqual(done.stderr, "")
            for word in ["solve", "info", "methods", "solver:NAME", "Exit status"]:
                self.assertIn(word, done.stdout)

    def test_command_help_lists_options(self):
        options = {
            "solve": ["--rhs", "--method", "--device", "--rtol", "--atol", "--max-iterations", "--parameter",
                      "--precision", "--output", "--plot", "--report", "--json", "--quiet"],
            "info": ["--plot", "--dependencies", "--hierarchy", "--order", "--factor", "--plot-factor", "--json", "--quiet"],
            "generate": ["--list", "--rows", "--seed", "--parameter", "--precision", "--output", "--json",
                         "--quiet"],
            "methods": ["--json"],
            "devices": ["--json"],
        }
        for command, names in options.items():
            done = self.run_tool(command, "--help")
            self.assertEqual(done.stderr, "")
            for name in names:
                self.assertIn(name, done.stdout)

    def test_method_help_lists_options(self):
        for method in json.loads(self.run_tool("methods", "--json").stdout)["methods"]:
            text = self.run_tool("--help", f"solver:{method['name']}").stdout
            self.assertIn(method["summary"], text)
            for option in method["options"]:
                self.assertRegex(text, rf"(?m)^  {re.escape(option['name'])} ")
            self.assertEqual(self.run_tool("solve", f"--help=solver:{method['name']}").stdout, text)

    def test_version_format(self):
        self.assertRegex(self.run_tool("--version").stdout, r"\Aechelon \d+\.\d+\.\d+\ncommit: ([0-9a-f]{7,40}(-dirty)?|\S+)\n"
                         r"compiler: (GCC|Clang) \d+\.\d+\.\d+\nBLAS: \S.*\n"
                         r"instruction sets: portable, AVX2, AVX-512; on this processor (portable|AVX2|AVX-512)\n"
                         r"CUDA: (yes|no)\nOpenCL: (yes|no)\n\Z")


class Methods(ToolTest):
    def test_methods_table_matches_json(self):
        listed = json.loads(self.run_tool("methods", "--json").stdout)
        table = self.run_tool("methods").stdout
        names = [method["name"] for method in listed["methods"]]
        self.assertEqual(names, sorted(names))
        for method in listed["methods"]:
            self.assertRegex(table, rf"(?m)^{re.escape(method['name'])} +{method['kind']} ")
            self.assertIn(method["kind"], ["automatic", "direct", "iterative", "preconditioner"])
        for name in ["bicgstab", "cg", "gmres", "ic0", "ilu0", "jacobi", "lapack-lu"]:
            self.assertIn(name, names)

    def test_devices_for_complex_matrices_are_listed(self):
        listed = json.loads(self.run_tool("methods", "--json").stdout)
        devices = {method["name"]: method["complex_devices"] for method in listed["methods"]}
        host = ["serial", "openmp"]
        self.assertEqual(devices["lamg"], [])
        self.assertEqual(devices["sparse-lu"], host)
        self.assertEqual(devices["amg"], host)
        for name in ["auto", "cg", "cocg", "gmres", "jacobi", "lu"]:
            self.assertEqual(devices[name], host + (["cuda"] if listed["cuda_built"] else []), name)
        self.assertRegex(self.run_tool("--help", "solver:cg").stdout, r"complex A +host")

    def test_host_methods_solve(self):
        spd = self.spd(33)
        lower = self.file("lower.mtx", tridiagonal(33, 4, -1, 0))
        for method in json.loads(self.run_tool("methods", "--json").stdout)["methods"]:
            if method["kind"] == "preconditioner" or "serial" not in method["devices"]:
                continue
            matrix = lower if method["needs"] == "triangular" else spd
            for device in ["serial", "openmp:2"]:
                report = self.report(matrix, "--method", method["name"], "--device", device)
                self.assertEqual(report["device"], device)
                if method["kind"] != "automatic":
                    self.assertEqual(report["method"], method["name"])
                self.assertLess(report["distance_from_ones"], 1e-6)


class Solve(ToolTest):
    def test_text_report_content(self):
        done = self.run_tool("solve", self.spd(), "--method", "cg", "--device", "serial")
        self.assertEqual(done.stderr, "")
        self.assertTrue(done.stdout.startswith("Solved: cg converged after "))
        for words in ["100 x 100, 298 nonzeros", "b = A * 1", "relative residual", "(tolerance 1e-08)",
                      "backward error", "max |x - 1|", "serial", "time", "memory"]:
            self.assertIn(words, done.stdout)
        self.assertNotIn("\033", done.stdout)

    def test_least_squares_on_request(self):
        # x_0 + x_1 = 1 and x_0 + x_1 = 3: the means, and of these the least.
        A = self.file("twice.mtx", array([[1, 1], [1, 1]]))
        b = self.file("b.txt", "1\n3\n")
        for method in ["auto", "lu", "sparse-lu", "gauss-jordan", "crout"]:
            self.run_tool("solve", A, "--rhs", b, "--method", method, code=NO_SOLUTION)
            report = self.report(A, "--rhs", b, "--method", method, "--least-squares")
            self.assertEqual(report["status"], "least_squares", method)
            self.assertAlmostEqual(report["relative_residual"], (2 / 10) ** 0.5, 12)

    def test_certify_bounds_the_error(self):
        report = self.report(self.spd(), "--certify")
        certificate = report["certificate"]
        self.assertEqual(certificate["proof"], "h-matrix")
        self.assertGreaterEqual(certificate["error_bound"], report["distance_from_ones"])
        self.assertLess(certificate["error_bound"], 1e-9)
        text = self.run_tool("solve", self.spd(), "--certify").stdout
        self.assertRegex(text, r"\n  accuracy +\|x_i - x\*_i\| <= ")
        self.assertNotIn("expect about", text)
        turn = self.file("turn.mtx", coordinate(2, 2, [(1, 1, 1), (1, 2, 3), (2, 1, -2), (2, 2, 1)]))
        self.assertEqual(self.report(turn, "--certify")["certificate"]["proof"], "approximate-inverse")
        nearly_singular = self.file("flat.mtx", array([[1, 1], [3, 3 + 1e-15]]))
        report = self.report(nearly_singular, "--method", "lu", "--certify")
        self.assertEqual((report["rank"], report["certainty"]), (2, "proven"))
        # The measured error is that for the b that was given, whose solution may be far from ones.
        self.assertGreaterEqual(report["expected_digits"], 12)
        self.assertIn("by its measured error", report["warnings"][-1])
        refused = report["certificate"]
        self.assertEqual((refused["proof"], refused["error_bound"]), ("none", None))
        self.assertIn("too close to a singular matrix", refused["reason"])
        text = " ".join(self.run_tool("solve", nearly_singular, "--method", "lu", "--certify").stdout.split())
        self.assertRegex(text, r"accuracy expect about \d+ correct digits in [a-z ]+; no bound was proven: ")
        self.assertIsNone(self.report(self.spd())["certificate"])

    def test_certify_refined_makes_the_error_small(self):
        # The Hilbert matrix of order 8, whose condition is 1.5e10.
        rows = [[1 / (i + j + 1) for j in range(8)] for i in range(8)]
        A = self.file("hilbert.mtx", array(rows))
        plain = self.report(A, "--method", "lu", "--certify")["certificate"]
        refined = self.report(A, "--method", "lu", "--certify-refined")["certificate"]
        self.assertEqual((plain["proof"], refined["proof"]), ("approximate-inverse",) * 2)
        self.assertGreater(plain["relative_error_bound"], refined["relative_error_bound"])
        self.assertLess(refined["relative_error_bound"], 3e-16)

    def test_auto_gives_reason(self):
        report = self.report(self.spd())
        self.assertTrue(report["reason"])
        self.assertLess(report["backward_error"], 1e-6)

    def test_rhs_file_gives_solution_by_hand(self):
        # Computed by hand for x = (1, 2, 3, 4).
        b = self.file("b.mtx", array([[2, 4, 6, 13]]))
        out = str(self.folder / "x.mtx")
        report = self.report(self.file("A.mtx", tridiagonal(4, 4, -1, -1)), "--rhs", b, "-o", out,
                             "--method", "lapack-lu")
        for x, exact in zip(read_array(out)[0], [1, 2, 3, 4]):
            self.assertAlmostEqual(x, exact, delta=1e-14)
        self.assertEqual(report["right_hand_side"], {"source": "file", "file": b, "seed": None, "columns": 1})
        self.assertIsNone(report["distance_from_ones"])

    def test_empty_system_is_solved(self):
        self.assertTrue(self.report(self.file("A.mtx", coordinate(0, 0, [])))["solved"])

    def test_several_rhs_sparse_or_dense(self):
        matrix = self.file("A.mtx", tridiagonal(4, 4, -1, -1))
        out = str(self.folder / "x.mtx")
        for b in [array([[2, 4, 6, 13], [4, -1, 0, 0]]),
                  coordinate(4, 2, [(1, 1, 2), (2, 1, 4), (3, 1, 6), (4, 1, 13), (1, 2, 4), (2, 2, -1)])]:
            report = self.report(matrix, "--rhs", self.file("b.mtx", b), "-o", out, "--method", "gmres",
                                 "--rtol", "1e-14")
            self.assertEqual(len(report["columns"]), 2)
            for column, exact in zip(read_array(out), [[1, 2, 3, 4], [1, 0, 0, 0]]):
                for x, wanted in zip(column, exact):
                    self.assertAlmostEqual(x, wanted, delta=1e-12)

    def test_options_reach_method(self):
        matrix = self.file("A.mtx", tridiagonal(200, 2.01, -1, -1))
        loose = self.report(matrix, "--method", "cg", "--rtol", "1e-2")
        tight = self.report(matrix, "--method", "cg", "--rtol", "1e-12")
        self.assertLess(loose["iterations"], tight["iterations"])
        self.assertLessEqual(tight["relative_residual"], 1e-12)
        few = self.report(matrix, "--method", "cg", "--max-iterations", "3", code=NOT_CONVERGED)
        self.assertEqual((few["status"], few["iterations"]), ("max_iterations", 3))
        incomplete = self.report(matrix, "--method", "cg", "-p", "preconditioner=ilu0")
        self.assertLessEqual(incomplete["iterations"], 3)  # ILU(0) of a tridiagonal matrix is its LU
        for shift in ["auto", "0"]:
            cholesky = self.report(matrix, "--method", "cg", "-p", "preconditioner=ic0", "-p",
                                   f"preconditioner.shift={shift}")
            self.assertLessEqual(cholesky["iterations"], 3)
            self.assertEqual(cholesky["statistics"]["preconditioner.attempts"], 1)
        swept = self.report(matrix, "--method", "cg", "-p", "preconditioner=ssor", "-p", "preconditioner.omega=1.3")
        self.assertLess(swept["iterations"], tight["iterations"])
        damped = self.report(matrix, "--method", "gmres", "-p", "restart=20", "-p", "preconditioner=jacobi",
                             "-p", "preconditioner.weight=0.5")
        self.assertTrue(damped["solved"])
        self.assertEqual(damped["method"], "gmres")
        self.assertIn("restart=20", damped["description"])

    def test_partition(self):
        matrix = self.file("A.mtx", tridiagonal(12, 2.5, -1, -1))
        thirds = self.file("parts.txt", "".join(f"{row // 4}\n" for row in range(12)))
        direct = self.report(matrix, "--method", "bddc", "--partition", thirds)
        self.assertEqual(direct["statistics"]["subdomains"], 3)
        nested = self.report(matrix, "--method", "cg", "-p", "preconditioner=bddc", "--partition", thirds)
        self.assertEqual(nested["statistics"]["preconditioner.subdomains"], 3)
        short = self.file("short.txt", "0\n1\n")
        for arguments, wanted in [
            (["--method", "cg", "--partition", thirds], "only bddc divides A by a partition"),
            (["--method", "bddc", "--partition", short], "2 numbers for 12 rows"),
            (["--method", "bddc", "--partition", "missing.txt"], "cannot be opened"),
        ]:
            with self.subTest(arguments=arguments):
                self.assertIn(wanted, self.error("solve", matrix, *arguments, code=USAGE))

    def test_float_precision(self):
        report = self.report(self.spd(), "--precision", "float", "--method", "cg")
        self.assertEqual(report["precision"], "float")
        self.assertLess(report["distance_from_ones"], 1e-3)
        self.assertGreater(report["distance_from_ones"], 0)

    def test_gzip_and_dense_input(self):
        zipped = self.file("A.mtx.gz", gzip.compress(tridiagonal(10, 3, 1, -1).encode()))
        self.assertTrue(self.report(zipped)["solved"])
        dense = self.file("D.mtx", array([[2, 1], [1, 3]]))
        report = self.report(dense)
        self.assertEqual(report["matrix"]["format"], "array")
        self.assertLess(report["distance_from_ones"], 1e-12)


class Json(ToolTest):
    def test_report_has_documented_names(self):
        report = self.report(self.spd(), "--method", "cg")
        for name in ["status", "solved", "exit_code", "method", "description", "device", "hardware", "precision", "reason",
                     "message", "warnings", "row", "column", "iterations", "residual_norm", "relative_residual",
                     "tolerance", "backward_error", "reciprocal_condition", "condition_kind",
                     "preconditioned_condition", "error_estimate", "expected_digits", "certificate", "statistics",
                     "distance_from_ones",
                     "read_seconds", "choosing_seconds", "analysis_seconds", "setup_seconds", "solve_seconds", "transfer_seconds",
                     "write_seconds", "total_seconds", "bytes", "matrix", "right_hand_side", "output", "attempts", "columns",
                     "history"]:
            self.assertIn(name, report)
        self.assertEqual(report["exit_code"], SOLVED)
        self.assertEqual(report["matrix"]["nonzeros"], 298)
        self.assertEqual(len(report["history"]), report["iterations"] + 1)
        self.assertEqual(report["statistics"], {})

    def test_times_add_up(self):
        matrix = self.folder / "A.petsc"
        self.run_tool("generate", "poisson-2d", "--rows", "40000", "-o", str(matrix), "--quiet")
        hard = self.file("hard.mtx", coordinate(2, 2, [(1, 1, 1), (2, 2, 1e-300)]))
        for arguments in [[matrix, "-o", str(self.folder / "x.mtx")],
                          [matrix, "--method", "sparse-cholesky", "--certify"], [hard]]:
            # Other processes may take the processor between two parts, but hardly in each of ten runs.
            shares = []
            for _ in range(10):
                report = self.report(*arguments)
                parts = sum(report[name] for name in report if name.endswith("_seconds") and
                            name not in ["total_seconds", "history_seconds"])
                parts += sum(attempt["seconds"] for attempt in report["attempts"])
                parts += report["certificate"]["seconds"] if report["certificate"] else 0
                self.assertLessEqual(parts, 1.001 * report["total_seconds"])
                shares.append(report["total_seconds"] - parts <= 0.01 * report["total_seconds"] + 0.001)
                if shares[-1]:
                    break
            self.assertTrue(any(shares), report)

    def test_statistics_are_an_object(self):
        # LU without exchanges; u_22 = 3 - 1/2.
        matrix = self.file("D.mtx", array([[2, 1], [1, 3]]))
        arguments = ["--method", "lapack-lu", "-p", "equilibrate=false", "-p", "refine=0"]
        self.assertEqual(self.report(matrix, *arguments)["statistics"],
                         {"factorization": "lu", "pivot_growth": 2.5 / 3, "refinement_steps": 0})
        text = self.run_tool("solve", matrix, *arguments).stdout
        self.assertRegex(text, r"(?m)^  statistics +factorization lu, pivot_growth 0\.833, refinement_steps 0$")

    def test_names_are_documented(self):
        guide = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tool.md"
        documented = set(re.findall(r"`(\w+)`", guide.read_text()))
        matrix = self.spd()
        for arguments in [["solve", matrix], ["info", matrix], ["methods"], ["generate", "hilbert"],
                          ["generate", "--list"]]:
            result = json.loads(self.run_tool(*arguments, "--json").stdout)
            self.assertEqual(set(result) - documented, set(), arguments)

    def test_default_rhs_prints_note(self):
        done = self.run_tool("solve", self.spd(), "--json")
        self.assertIn("b = A * 1", done.stderr)
        self.assertEqual(json.loads(done.stdout)["right_hand_side"]["source"], "A*1")

    def test_quiet_prints_nothing_on_stderr(self):
        self.assertEqual(self.run_tool("solve", self.spd(), "--json", "--quiet").stderr, "")

    def test_infinities_become_null(self):
        # The residual of Jacobi's method grows tenfold per iteration.
        entries = [(1, 1, 1), (2, 2, 1), (1, 2, 10), (2, 1, 10)]
        done = self.run_tool("solve", self.file("A.mtx", coordinate(2, 2, entries)), "--method", "jacobi",
                             "--max-iterations", "5000", "--json", code=NOT_CONVERGED)

        def refuse(constant):
            raise AssertionError(f"{constant} is not JSON")
        self.assertEqual(json.loads(done.stdout, parse_constant=refuse)["status"], "diverged")

    def test_file_name_with_invalid_utf8(self):
        path = os.fsencode(self.folder) + b"/\xff\"odd\\.mtx"
        with open(path, "wb") as stream:
            stream.write(tridiagonal(3, 2, 0.5, 0.5).encode())
        done = subprocess.run([TOOL, "solve", path, "--json", "--quiet"], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, SOLVED, done.stderr)
        self.assertTrue(json.loads(done.stdout.decode())["solved"])


class Failures(ToolTest):
    def test_matrix_without_factor_status(self):
        matrix = self.file("A.mtx", array([[1, 2], [2, 4]]))
        done = self.run_tool("solve", matrix, "--method", "cholesky", code=NO_SOLUTION)
        self.assertTrue(done.stdout.startswith("Not solved: "))
        report = self.report(matrix, "--method", "cholesky", code=NO_SOLUTION)
        self.assertEqual(report["status"], "not_spd")
        self.assertEqual(report["exit_code"], NO_SOLUTION)
        self.assertFalse(report["solved"])
        # Without an x there is no residual.
        self.assertEqual([report[name] for name in ["residual_norm", "relative_residual", "backward_error"]],
                         [None] * 3)

    def test_indefinite_matrix_status(self):
        entries = [(1, 1, 1), (2, 2, -1)]
        report = self.report(self.file("A.mtx", coordinate(2, 2, entries)), "--method", "cg", code=NO_SOLUTION)
        self.assertEqual(report["status"], "not_spd")

    def test_rectangular_matrix_is_refused(self):
        matrix = self.file("A.mtx", coordinate(2, 3, [(1, 1, 1)]))
        line = self.error("solve", matrix, "--method", "lapack-lu", code=BAD_INPUT)
        for word in [matrix, "2 by 3", "lapack-lu", "gauss-jordan", "lsmr", "qr"]:
            self.assertIn(word, line)

    def test_tall_system_has_least_squares(self):
        matrix = self.file("A.mtx", array([[1, 1, 1], [1, 2, 3]]))
        right = self.file("b.mtx", array([[3, 5, 8]]))
        for method in ["auto", "qr", "sparse-qr", "augmented", "lsqr", "lsmr", "cgls"]:
            x = self.folder / "x.mtx"
            report = self.report(matrix, "--rhs", right, "--method", method, "-o", str(x))
            self.assertEqual(report["status"], "least_squares")
            self.assertLess(report["normal_residual"], 1e-8)
            self.assertAlmostEqual(report["residual_norm"], 6 ** -0.5)
            for element, expected in zip(read_array(x)[0], [1 / 3, 5 / 2]):
                self.assertAlmostEqual(element, expected, 6)
        self.assertIn("least residual", self.run_tool("solve", matrix, "--rhs", right).stdout)

    def test_wide_system_has_least_norm(self):
        matrix = self.file("A.mtx", array([[1], [2], [2]]))
        right = self.file("b.mtx", array([[9]]))
        for method in ["auto", "qr", "sparse-qr", "augmented", "lsqr", "lsmr", "cgls", "craig"]:
            x = self.folder / "x.mtx"
            report = self.report(matrix, "--rhs", right, "--method", method, "-o", str(x))
            self.assertEqual(report["status"], "underdetermined")
            self.assertIn("least norm", report["message"])
            for element, expected in zip(read_array(x)[0], [1, 2, 2]):
                self.assertAlmostEqual(element, expected, 6)

    def rectangular(self, rows, rights, code):
        """Solves with gauss-jordan, A and b given by their rows; returns the report and x."""
        matrix = self.file("A.mtx", array([list(column) for column in zip(*rows)]))
        right = self.file("b.mtx", array([list(column) for column in zip(*rights)]))
        x = self.folder / "x.mtx"
        x.unlink(missing_ok=True)
        report = self.report(matrix, "--rhs", right, "--method", "gauss-jordan", "-o", str(x), code=code)
        self.assertEqual(report["output"], str(x))
        return report, read_array(x)

    def test_wide_system_is_underdetermined(self):
        report, x = self.rectangular([[1, 2, 0, 1], [0, 0, 1, 3]], [[5], [7]], code=SOLVED)
        self.assertEqual(report["status"], "underdetermined")
        self.assertEqual((report["rank"], report["null_space_dimension"]), (2, 2))
        self.assertIn("dimension 2", report["message"])
        self.assertLess(report["backward_error"], 1e-15)
        self.assertAlmostEqual(x[0][0] + 2 * x[0][1] + x[0][3], 5)
        self.assertAlmostEqual(x[0][2] + 3 * x[0][3], 7)
        self.assertEqual(sum(element == 0 for element in x[0]), 2)

    def test_tall_system_solved_or_inconsistent(self):
        rows = [[1, 1], [1, 2], [1, 3]]
        report, x = self.rectangular(rows, [[3, 0], [5, 1], [7, 2]], code=SOLVED)
        self.assertEqual(report["status"], "direct")
        self.assertEqual((report["rank"], report["null_space_dimension"]), (2, 0))
        for element, expected in zip(x[0] + x[1], [1, 2, -1, 1]):
            self.assertAlmostEqual(element, expected)
        report, _ = self.rectangular(rows, [[3, 0], [5, 1], [8, 2]], code=NO_SOLUTION)
        self.assertEqual(report["status"], "inconsistent")
        self.assertEqual([column["status"] for column in report["columns"]], ["inconsistent", "direct"])
        self.assertIn(f"row {report['row']} ", report["message"])
        self.assertIn("contradicts", report["message"])

    def test_contradicting_row_is_named(self):
        report, _ = self.rectangular([[1, 2, 3], [0, 0, 0]], [[1], [1]], code=NO_SOLUTION)
        self.assertEqual((report["status"], report["row"]), ("inconsistent", 1))
        self.assertFalse(report["solved"])
        text = self.run_tool("solve", self.folder / "A.mtx", "--rhs", self.folder / "b.mtx", "--method",
                             "gauss-jordan", code=NO_SOLUTION).stdout
        self.assertIn("Not solved: the system is inconsistent", text)
        self.assertIn("row 1 ", text)

    def test_default_rhs_of_rectangular_matrix(self):
        tall = self.file("A.mtx", coordinate(3, 2, [(1, 1, 1), (2, 2, 2), (3, 1, 1), (3, 2, 1)]))
        report = self.report(tall, "--method", "gauss-jordan")
        self.assertEqual(report["status"], "direct")
        self.assertLess(report["distance_from_ones"], 1e-14)
        self.assertIsNone(self.report(self.spd(), "--method", "lapack-lu")["rank"])

    def test_rhs_of_wrong_size_names_both_files(self):
        line = self.error("solve", self.spd(), "--rhs", self.file("b.mtx", array([[1, 2, 3]])), code=BAD_INPUT)
        for word in ["spd.mtx", "100", "b.mtx", "3"]:
            self.assertIn(word, line)

    def test_cuda_without_gpu_explains(self):
        listed = json.loads(self.run_tool("methods", "--json").stdout)
        if listed["cuda_devices"] > 0:
            self.skipTest("there is a GPU")
        kind, advice = ("NoDevice", "openmp") if listed["cuda_built"] else ("NotBuilt", "CUDA")
        self.assertIn(advice, self.error("solve", self.spd(), "--device", "cuda", code=RESOURCES))
        done = self.run_tool("solve", self.spd(), "--device", "cuda", "--json", code=RESOURCES)
        self.assertEqual(json.loads(done.stdout)["error"]["kind"], kind)
        # The device is checked before the file is read.
        self.error("solve", "missing.mtx", "--device", "cuda", code=RESOURCES)

    def test_opencl_without_device_explains(self):
        listed = json.loads(self.run_tool("methods", "--json").stdout)
        if listed["opencl_devices"] > 0:
            self.skipTest("there is an OpenCL device")
        kind, advice = ("NoDevice", "openmp") if listed["opencl_built"] else ("NotBuilt", "OpenCL")
        self.assertIn(advice, self.error("solve", self.spd(), "--device", "opencl", code=RESOURCES))
        done = self.run_tool("solve", self.spd(), "--device", "opencl:1", "--json", code=RESOURCES)
        self.assertEqual(json.loads(done.stdout)["error"]["kind"], kind)

    def test_opencl_solves(self):
        if json.loads(self.run_tool("methods", "--json").stdout)["opencl_devices"] == 0:
            self.skipTest("no OpenCL device")
        report = self.report(self.spd(), "--method", "cg", "--device", "opencl")
        self.assertEqual(report["device"], "opencl")
        self.assertLess(report["distance_from_ones"], 1e-6)
        self.assertIn("sparse-lu", self.error("solve", self.spd(), "--method", "sparse-lu", "--device", "opencl",
                                              code=RESOURCES))

    def test_devices_are_listed(self):
        listed = json.loads(self.run_tool("devices", "--json").stdout)
        names = [device["device"] for device in listed["devices"]]
        self.assertEqual(names[:2], ["serial", "openmp"])
        self.assertEqual(any(name.startswith("opencl") for name in names) and not listed["opencl_built"], False)
        text = self.run_tool("devices").stdout
        for device in listed["devices"]:
            self.assertIn(device["hardware"], text)
            self.assertEqual(device["usable"], device["refusal"] is None)

    def test_method_on_unsupported_device_is_refused(self):
        line = self.error("solve", self.spd(), "--method", "cusolver-lu", "--device", "serial", code=RESOURCES)
        self.assertIn("cusolver-lu", line)

    def test_full_stdout_fails(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w") as full:
            done = subprocess.run([TOOL, "methods"], stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, RESOURCES)


class Malformed(ToolTest):
    HEADER = "%%MatrixMarket matrix coordinate real general\n"

    def test_malformed_file_error_names_place(self):
        whole = tridiagonal(50, 4, -1, -1)
        for name, content, place in [
            ("empty", "", ""),
            ("binary", bytes(range(256)) * 64, ":1"),
            ("no_header", "3 3 1\n1 1 1\n", ":1"),
            ("only_header", self.HEADER, ""),
            ("truncated", "\n".join(whole.split("\n")[:40]) + "\n", ":"),
            ("too_many", self.HEADER + "2 2 1\n1 1 1\n2 2 1\n", ":4"),
            ("row_out_of_range", self.HEADER + "2 2 2\n1 1 1\n3 2 1\n", ":4"),
            ("counted_from_0", self.HEADER + "2 2 2\n0 0 1\n1 1 1\n", ":3"),
            ("nan", self.HEADER + "2 2 2\n1 1 nan\n2 2 1\n", ":3"),
            ("text", self.HEADER + "2 2 2\n1 1 one\n2 2 1\n", ":3"),
            ("overflow", self.HEADER + "2 2 1\n1 99999999999999999999 1\n", ":3"),
            ("complex", self.HEADER.replace("real", "complex") + "1 1 1\n1 1 1\n", ":3"),
            ("complex_nan", self.HEADER.replace("real", "complex") + "1 1 1\n1 1 1 nan\n", ":3"),
            ("complex_diagonal", self.HEADER.replace("real general", "complex hermitian")
             + "2 2 2\n1 1 1 0\n2 2 1 0.5\n", ":4"),
            ("boast", self.HEADER + "100000000 100000000 1000000000000\n1 1 1\n", ""),
            ("bad_gzip.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03garbage", ""),
            ("cut_gzip.gz", gzip.compress(whole.encode())[:100], ""),
        ]:
            with self.subTest(name):
                path = self.file(name, content)
                for command in ["solve", "info"]:
                    self.assertIn(path + place, self.error(command, path, code=BAD_INPUT))
                done = self.run_tool("solve", path, "--json", "--quiet", code=BAD_INPUT)
                error = json.loads(done.stdout)["error"]
                self.assertEqual((error["kind"], error["file"]), ("ParseError", path))

    def test_missing_file_and_directory(self):
        self.assertIn("missing.mtx", self.error("solve", "missing.mtx", code=BAD_INPUT))
        self.error("info", str(self.folder), code=BAD_INPUT)
        self.error("solve", self.spd(), "--rhs", "missing.mtx", code=BAD_INPUT)


class SteadyStates(ToolTest):
    """solve --steady-state."""

    def chain(self, entries, states=3):
        lines = "".join(f"{i + 1} {j + 1} {value}\n" for i, j, value in entries)
        return self.file("chain.mtx", f"%%MatrixMarket matrix coordinate real general\n{states} {states} {len(entries)}\n{lines}")

    def test_probabilities_of_rates(self):
        path = self.chain([(0, 0, -1e-9), (0, 1, 1e-9), (1, 1, -3), (1, 0, 1), (1, 2, 2), (2, 2, -4), (2, 1, 4)])
        out = str(self.folder / "x.mtx")
        report = self.report(path, "--steady-state", "-o", out)
        self.assertEqual((report["status"], report["closed_classes"], report["transient_states"]), ("direct", 1, 0))
        self.assertLess(report["residual"], 1e-15)
        self.assertLess(report["componentwise_residual"], 1e-14)
        self.assertEqual((report["method"], report["iterations"]), ("gth", 0))
        lines = [line for line in pathlib.Path(out).read_text().split("\n") if line and line[0] != "%"]
        x = [float(line) for line in lines[1:]]
        total = 1 + 1e-9 + 0.5e-9
        for found, expected in zip(x, [1 / total, 1e-9 / total, 0.5e-9 / total]):
            self.assertLess(abs(found / expected - 1), 1e-15)
        self.assertIn("Steady state", self.run_tool("solve", path, "--steady-state").stdout)

    def test_chain_that_fills_up_is_iterated_on(self):
        states = 6000
        steps = {(i, (i * factor + shift) % states) for i in range(states) for factor, shift in ((1, 1), (7, 11), (131, 5))}
        rates = [(i, j, 1 + (i + j) % 3) for i, j in sorted(steps) if i != j]
        out = [0] * states
        for i, _, rate in rates:
            out[i] += rate
        path = self.chain(rates + [(i, i, -total) for i, total in enumerate(out)], states)
        report = self.report(path, "--steady-state")
        self.assertEqual((report["status"], report["method"]), ("converged", "iteration"))
        self.assertLess(max(report["residual"], report["componentwise_residual"]), 1e-13)
        self.assertIn("elimination would fill up", self.run_tool("solve", path, "--steady-state").stdout)

    def test_several_closed_classes(self):
        path = self.chain([(0, 0, 1), (1, 0, 0.5), (1, 2, 0.5), (2, 2, 1)])
        report = self.report(path, "--steady-state", code=NO_SOLUTION)
        self.assertEqual((report["status"], report["closed_classes"], report["transient_states"]), ("underdetermined", 2, 1))

    def test_refusals(self):
        path = self.chain([(0, 0, -1), (0, 1, 1)])
        for arguments in (["--rhs", "ones"], ["--method", "lu"], ["--device", "serial"], ["-p", "rtol=1"], ["--certify"]):
            self.assertIn("with --steady-state", self.error("solve", path, "--steady-state", *arguments, code=USAGE))
        self.assertIn("row 0 (from 0) has the sum",
                      self.error("solve", self.chain([(0, 0, -1), (0, 1, 2)]), "--steady-state", code=BAD_INPUT))


class ComplexSystems(ToolTest):
    """Files of complex numbers, and what refuses them."""

    HEADER = "%%MatrixMarket matrix coordinate complex "

    def helmholtz(self):
        path = str(self.folder / "helmholtz.mtx")
        self.run_tool("generate", "helmholtz-2d", "-p", "nx=20", "-p", "ny=15", "-o", path, "--quiet")
        return path

    def test_direct_and_iterative_methods(self):
        path = self.helmholtz()
        for arguments in ([], ["--method", "lu"], ["--method", "sparse-lu"], ["--method", "gmres", "--rtol", "1e-12"],
                          ["--method", "cocg", "--rtol", "1e-12", "--max-iterations", "5000"]):
            with self.subTest(arguments):
                report = self.report(path, "--quiet", *arguments)
                self.assertEqual(report["precision"], "complex double")
                self.assertLess(report["distance_from_ones"], 1e-8)

    def test_multigrid_with_vectors(self):
        path = str(self.folder / "shifted.mtx")
        self.run_tool("generate", "shifted-laplacian", "-p", "nx=30", "-p", "ny=30", "-p", "nz=1", "-o", path, "--quiet")
        ones = self.file("ones.mtx", "%%MatrixMarket matrix array real general\n900 1\n" + "1\n" * 900)
        counts = []
        for vectors in ([], ["--near-null-space", ones]):
            report = self.report(path, "--method", "gmres", "-p", "preconditioner=amg", "--quiet", *vectors)
            self.assertEqual((report["status"], report["precision"]), ("converged", "complex double"))
            counts.append(report["iterations"])
        self.assertLess(max(counts), 60)

    def test_symmetries_of_files(self):
        for symmetry, entries, x in [("general", "1 1 2 0\n2 1 0 1\n2 2 1 1\n", [0.5 + 0j, 0.25 - 0.75j]),
                                     ("symmetric", "1 1 2 0\n2 1 0 1\n2 2 2 0\n", [0.4 - 0.2j, 0.4 - 0.2j]),
                                     ("hermitian", "1 1 2 0\n2 1 0 1\n2 2 2 0\n", [(2 + 1j) / 3, (2 - 1j) / 3]),
                                     ("skew-symmetric", "2 1 1 2\n", [0.2 - 0.4j, -0.2 + 0.4j])]:
            with self.subTest(symmetry):
                lines = entries.count("\n")
                path = self.file("A.mtx", f"{self.HEADER}{symmetry}\n2 2 {lines}\n{entries}")
                out = str(self.folder / "x.mtx")
                self.run_tool("solve", path, "--rhs", "ones", "-o", out, "--quiet")
                numbers = [line.split() for line in pathlib.Path(out).read_text().split("\n") if line and line[0] != "%"][1:]
                for found, expected in zip(numbers, x):
                    self.assertAlmostEqual(complex(float(found[0]), float(found[1])), expected)
                kind = json.loads(self.run_tool("info", path, "--json", "--quiet").stdout)
                self.assertEqual((kind["field"], kind["symmetry"]), ("complex", symmetry))
                self.assertEqual(kind["hermitian_values"], symmetry == "hermitian")

    def test_a_real_matrix_and_a_complex_right_hand_side(self):
        A = self.file("real.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 2\n2 2 4\n")
        b = self.file("b.mtx", "%%MatrixMarket matrix array complex general\n2 1\n1 1\n0 8\n")
        out = str(self.folder / "x.npy")
        report = self.report(A, "--rhs", b, "-o", out, "--quiet")
        self.assertEqual(report["precision"], "complex double")
        self.assertIn(b"'<c16'", pathlib.Path(out).read_bytes())

    def test_least_squares(self):
        tall = self.file("tall.mtx", self.HEADER + "general\n3 1 3\n1 1 1 0\n2 1 0 1\n3 1 1 0\n")
        b = self.file("b.mtx", "%%MatrixMarket matrix array complex general\n3 1\n1 0\n0 1\n0 0\n")
        out = str(self.folder / "x.mtx")
        report = self.report(tall, "--rhs", b, "-o", out, "--quiet")
        self.assertEqual((report["status"], report["method"]), ("least_squares", "qr"))
        real, imaginary = map(float, pathlib.Path(out).read_text().split("\n")[-2].split())
        self.assertAlmostEqual(complex(real, imaginary), 2 / 3)

    def test_eliminations(self):
        # Row 2 is i times row 1.
        entries = "1 1 1 0\n1 2 0 1\n1 3 2 0\n2 1 0 1\n2 2 -1 0\n2 3 0 2\n3 3 1 1\n"
        singular = self.file("singular.mtx", f"{self.HEADER}general\n3 3 7\n{entries}")
        rank = self.json("rank", singular)
        self.assertEqual((rank["rank"], rank["precision"], rank["certainty"]), (2, "complex double", "to working precision"))
        kernel = str(self.folder / "kernel.mtx")
        form = self.json("rref", singular, "--null-space", kernel)
        self.assertEqual((form["pivot_columns"], form["determinant"]["sign"]), ([0, 2], 0))
        numbers = [complex(*map(float, line.split())) for line in pathlib.Path(kernel).read_text().split("\n")[-4:-1]]
        for found, expected in zip(numbers, [-1j, 1, 0]):
            self.assertAlmostEqual(found, expected)
        self.assertIn("1i", self.run_tool("rref", singular).stdout)
        regular = self.file("regular.mtx", f"{self.HEADER}general\n2 2 3\n1 1 0 2\n1 2 1 0\n2 2 3 0\n")
        inverse = str(self.folder / "inverse.mtx")
        self.assertEqual(self.json("invert", regular, "-o", inverse)["status"], "direct")
        numbers = [complex(*map(float, line.split())) for line in pathlib.Path(inverse).read_text().split("\n")[-5:-1]]
        for found, expected in zip(numbers, [-0.5j, 0, 1j / 6, 1 / 3]):
            self.assertAlmostEqual(found, expected)
        determinant = self.json("rref", regular)["determinant"]
        for found, expected in zip(determinant["value"] + determinant["phase"], [0, 6, 0, 1]):
            self.assertAlmostEqual(found * (determinant["sign"] if expected == 1 else 1), expected)
        self.assertEqual(self.json("invert", singular, code=NO_SOLUTION)["column"], 1)

    def test_factors(self):
        path = self.helmholtz()
        for arguments, equation in ((["--method", "sparse-lu"], "L U"), (["--method", "sparse-ldlt"], "L D L^T"),
                                    (["--method", "lu"], "L U")):
            report = self.json("factor", path, *arguments, "-o", str(self.folder / "factors"))
            self.assertTrue(report["equation"].endswith(equation), report["equation"])
            self.assertEqual((report["precision"], len(report["determinant"]["value"])), ("complex double", 2))
            self.assertIn("complex", pathlib.Path(report["factors"]["L"]["file"]).read_text().split("\n")[0])
        hermitian = self.file("H.mtx", f"{self.HEADER}hermitian\n2 2 3\n1 1 2 0\n2 1 0 1\n2 2 2 0\n")
        report = self.json("factor", hermitian, "--method", "cholesky")
        self.assertTrue(report["equation"].endswith("L L^H"))
        self.assertAlmostEqual(report["determinant"]["value"][0], 3)
        self.assertTrue(self.json("factor", hermitian, "--method", "ldlt")["equation"].endswith("L D L^H"))

    def test_conversion_keeps_the_numbers(self):
        path = self.helmholtz()
        texts = []
        for name in ("A.npz", "B.mtx", "C.npy", "D.mtx", "E.petsc", "F.mtx"):
            target = str(self.folder / name)
            self.run_tool("convert", path, target, "--sparse" if name == "D.mtx" else "--quiet", "--quiet")
            path = target
            if name.endswith(".mtx"):
                texts.append([line for line in pathlib.Path(target).read_text().split("\n") if not line.startswith("%")])
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[0], texts[2])
        self.assertIn("real numbers", self.error("convert", path, str(self.folder / "A.txt"), code=BAD_INPUT))

    def test_refusals(self):
        path = self.helmholtz()
        self.assertIn("'lamg' is for real matrices", self.error("solve", path, "--method", "lamg", code=RESOURCES))
        self.assertIn("sparse-ldlt", self.report(path, "--method", "cholesky", "--quiet", code=NO_SOLUTION)["message"])
        self.assertIn("--certify", self.error("solve", path, "--certify", code=USAGE))
        self.assertIn("complex", self.error("solve", path, "--precision", "float", code=BAD_INPUT))
        self.assertIn("cocg", self.report(path, "--method", "cg", "--quiet", code=NO_SOLUTION)["message"])
        self.assertIn("modulo a prime, are for real matrices", self.error("rank", path, "-p", "field=mod:7", code=USAGE))
        self.assertIn("pages show real matrices", self.error("rank", path, "--report", str(self.folder / "rank.html"), code=USAGE))
        self.assertIn("complex", self.error("rank", path, "--precision", "float", code=BAD_INPUT))
        self.assertIn("own precision", self.error("invert", path, "--factor-precision", "single", code=USAGE))
        self.assertIn("gauss-jordan-striped is for real matrices",
                      self.error("rref", path, "--method", "gauss-jordan-striped", code=USAGE))
        for command in ("solve", "rank", "rref", "invert", "factor"):
            self.error(command, path, "--device", "cuda", code=RESOURCES)
        self.assertIn("--plot", self.error("info", path, "--plot", str(self.folder / "spy.svg"), code=USAGE))
        bad = self.file("bad.mtx", self.HEADER + "hermitian\n2 2 2\n1 1 1 0\n2 2 1 0.5\n")
        self.assertIn("row 2", self.error("solve", bad, code=BAD_INPUT))


class Output(ToolTest):
    def test_solution_round_trip(self):
        for name in ["x.mtx", "x.mtx.gz"]:
            out = self.folder / name
            report = self.report(self.spd(), "--method", "lapack-lu", "-o", str(out))
            self.assertEqual(report["output"], str(out))
            x = read_array(out)[0]
            self.assertEqual(len(x), 100)
            self.assertEqual(max(abs(value - 1) for value in x), report["distance_from_ones"])

    def test_not_converged_writes_best_x(self):
        out = self.folder / "x.mtx"
        self.run_tool("solve", self.spd(), "--method", "cg", "--max-iterations", "2", "-o", str(out),
                      code=NOT_CONVERGED)
        self.assertLess(max(abs(value - 1) for value in read_array(out)[0]), 0.5)

    def test_no_solution_writes_nothing(self):
        out = self.folder / "x.mtx"
        done = self.run_tool("solve", self.file("A.mtx", array([[1, 2], [2, 4]])), "--method", "cholesky",
                             "-o", str(out), code=NO_SOLUTION)
        self.assertFalse(out.exists())
        self.assertIn("not written", done.stdout)

    def test_failed_write_is_told_from_a_missing_solution(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        done = self.run_tool("solve", self.spd(), "-o", "/dev/full", code=RESOURCES)
        self.assertIn("/dev/full not written: see the error below", done.stdout)
        self.assertIn("/dev/full", done.stderr)

    def test_ill_conditioned_x_is_written_with_warning(self):
        n = 13
        hilbert = array([[1 / (i + j + 1) for i in range(n)] for j in range(n)])
        out = self.folder / "x.mtx"
        done = self.run_tool("solve", self.file("A.mtx", hilbert), "--method", "lapack-lu", "-o", str(out))
        self.assertTrue(done.stdout.startswith("Solved: lapack-lu"), done.stdout)
        self.assertIn("possibly no correct digit in x", done.stdout)
        self.assertIn("singular to working precision", done.stdout)
        self.assertEqual(len(read_array(out)[0]), n)
        # The least residual of these equations, which contradict each other, is half of b.
        singular = self.file("S.mtx", array([[1, 1, 0], [1, 1, 0], [0, 0, 2]]))
        right = self.file("b.mtx", array([[1, 0, 2]]))
        done = self.run_tool("solve", singular, "--rhs", right, "--method", "gauss-jordan", "-o", str(out),
                             code=NO_SOLUTION)
        self.assertIn("the best x that was reached", done.stdout)

    def test_failure_keeps_existing_file(self):
        out = self.file("x.mtx", "precious")
        self.run_tool("solve", "missing.mtx", "-o", out, code=BAD_INPUT)
        self.assertEqual(pathlib.Path(out).read_text(), "precious")
        self.run_tool("solve", self.spd(), "-o", out)
        self.assertEqual(len(read_array(out)[0]), 100)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["spd.mtx", "x.mtx"])

    def test_output_is_checked_before_reading(self):
        for option in ["-o", "--plot"]:
            for target in [str(self.folder / "no" / ("x.mtx" if option == "-o" else "x.svg")), str(self.folder)]:
                line = self.error("solve", "missing.mtx", option, target, code=RESOURCES)
                self.assertIn(target, line)
        self.assertIn(str(self.folder), self.error("info", "missing.mtx", "--plot", str(self.folder), code=RESOURCES))

    def test_full_disk_keeps_report(self):
        def limit_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        for option, name in [("-o", "out.mtx"), ("--plot", "out.svg")]:
            out = self.folder / name
            done = subprocess.run([TOOL, "solve", self.spd(), option, str(out), "--json", "--quiet"],
                                  preexec_fn=limit_files, restore_signals=False, capture_output=True, text=True,
                                  timeout=60)
            self.assertEqual(done.returncode, RESOURCES)
            self.assertIn(str(out), done.stderr)
            self.assertTrue(json.loads(done.stdout)["solved"])
            self.assertEqual([path.name for path in self.folder.iterdir()], ["spd.mtx"])

    def test_output_to_device_keeps_device(self):
        self.run_tool("solve", self.spd(), "-o", "/dev/null", "--plot", "/dev/null")
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())

    def test_output_follows_links(self):
        target = pathlib.Path(self.file("target.mtx", ""))
        link = self.folder / "link.mtx"
        link.symlink_to(target)
        self.run_tool("solve", self.spd(), "-o", str(link))
        self.assertTrue(link.is_symlink())
        self.assertEqual(len(read_array(target)[0]), 100)


    def test_output_to_pipe_reaches_reader(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for arguments in [["solve", self.spd(), "-o"], ["generate", "hilbert", "-o"], ["solve", self.spd(), "--plot"]]:
            process = subprocess.Popen([TOOL, *arguments, str(pipe)], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            reader = subprocess.run(["cat", pipe], capture_output=True, timeout=60)
            _, stderr = process.communicate(timeout=60)
            self.assertEqual((process.returncode, stderr), (SOLVED, b""))
            self.assertIn(reader.stdout[:5], [b"%%Mat", b"<svg "])

    def test_output_over_input_is_refused(self):
        matrix, b = pathlib.Path(self.spd()), pathlib.Path(self.file("b.mtx", array([[1.0] * 100])))
        (self.folder / "hard.mtx").hardlink_to(matrix)
        (self.folder / "soft.mtx").symlink_to(matrix)
        content = matrix.read_text(), b.read_text()
        for name in ["spd.mtx", "./spd.mtx", "hard.mtx", "soft.mtx", "../" + self.folder.name + "/b.mtx"]:
            done = self.run_tool("solve", "spd.mtx", "--rhs", "b.mtx", "-o", name, code=USAGE, cwd=self.folder)
            self.assertIn("overwrite", done.stderr)
        self.assertIn("overwrite", self.error("convert", str(matrix), str(matrix), code=USAGE))
        self.assertIn("overwrite", self.error("invert", str(matrix), "-o", str(matrix), code=USAGE))
        self.assertEqual((matrix.read_text(), b.read_text()), content)

    def test_outputs_to_one_file_are_refused(self):
        (self.folder / "link.svg").symlink_to(self.folder / "x.mtx")
        for one, other in [("x.mtx", "link.svg"), ("./x.mtx", "link.svg"), ("-", "-")]:
            done = self.run_tool("solve", self.spd(), "-o", one, "--plot", other, code=USAGE, cwd=self.folder)
            self.assertIn("name the same file", done.stderr)
        self.error("rref", self.spd(), "-o", "x.mtx", "--null-space", "x.mtx", code=USAGE)

    def test_empty_output_name_is_refused(self):
        for arguments in [["solve", self.spd(), "-o", ""], ["solve", self.spd(), "--plot", ""],
                          ["solve", self.spd(), "--rhs", ""], ["generate", "hilbert", "-o", ""],
                          ["convert", self.spd(), ""]]:
            self.error(*arguments, code=USAGE)

    def test_map_of_mapped_echelon_names_each_row_once(self):
        slides = self.file("slides.mtx", "%%MatrixMarket matrix array real general\n5 5\n" + "\n".join(
            "1 0 0 0 0 2 1 0 2 0 3 2 1 3 2 4 3 2 4 3 5 4 3 5 4".split()) + "\n")
        for claim in ["largest", "first", "ordered"]:
            for order in ["natural", "slices"]:
                found = self.report(slides, "--method", "mapped-echelon", "-p", "claim=" + claim, "-p", "order=" + order)
                owners = found["statistics"]["map"]
                self.assertEqual(len(owners), 5)
                owned = [row for row in owners if row >= 0]
                self.assertEqual(len(set(owned)), found["rank"])
                self.assertEqual([u for u, row in enumerate(owners) if row < 0], found["statistics"]["free_unknowns"])

    def test_map_as_a_file_and_on_the_page(self):
        big = str(self.folder / "tridiagonal.mtx")
        self.run_tool("generate", "tridiagonal", "--rows", "1500", "-p", "diagonal=4", "-o", big)
        rows = self.folder / "map.txt"
        page = self.folder / "page.html"
        found = self.report(big, "--method", "mapped-echelon", "--map", str(rows), "--report", str(page))
        self.assertNotIn("map", found["statistics"])  # too long
        self.assertEqual(sorted(int(float(line)) for line in rows.read_text().split()), list(range(1500)))
        self.assertIn("1,500 of 1,500 unknowns have one", page.read_text())
        wide = self.file("wide.mtx", array([[1, 1], [2, 2], [0, 1]]))
        self.run_tool("rank", wide, "--map", str(rows))
        self.assertEqual([int(float(line)) for line in rows.read_text().split()].count(-1), 1)
        for command in ["solve", "rank"]:
            self.assertIn("mapped-echelon", self.error(command, big, "--method", "gauss-jordan", "--map", str(rows), code=USAGE))
        self.error("solve", big, "--method", "mapped-echelon", "--map", "map.metis", code=USAGE)
        self.error("solve", big, "--method", "mapped-echelon", "--map", "x.mtx", "-o", "x.mtx", code=USAGE)

    def test_launches_of_a_relaunched_sweep(self):
        matrix = str(self.folder / "triangle.mtx")
        self.run_tool("generate", "published-triangle", "-p", "rows=5000", "-o", matrix)
        for device, most in [("serial", 1), ("openmp:2", 91)]:
            found = self.report(matrix, "--method", "gauss-seidel-relaunch", "--device", device)["statistics"]
            self.assertGreaterEqual(found["sweeps"], 1)
            self.assertGreaterEqual(found["launches"], found["sweeps"])
            self.assertLessEqual(found["launches"], most * found["sweeps"])

    def test_page_name_not_html_is_refused(self):
        for command in ["solve", "info", "rank"]:
            for name in ["page.svg", "page", "page.html.gz"]:
                self.assertIn(".html", self.error(command, self.spd(), "--report", str(self.folder / name), code=USAGE))

    def test_page_holds_the_report(self):
        for command in ["solve", "info", "rank"]:
            page = self.folder / f"{command}.html"
            done = self.run_tool(command, self.spd(), "--json", "--report", str(page))
            text = page.read_text(encoding="utf-8")
            data = re.search(r'<script type="application/json" id="data">(.*)</script>', text)[1]
            self.assertEqual(json.loads(data), json.loads(done.stdout))
            self.assertIn(f"<code>echelon {command} ", text)
            self.assertEqual(text.count("<script"), 1)
        matrix = self.spd()
        self.error("solve", matrix, "--report", matrix, code=USAGE)
        self.assertTrue(self.run_tool("solve", matrix, "--report", "-").stdout.startswith("<!DOCTYPE html>"))

    def test_plot_name_not_svg_is_refused(self):
        for command in ["solve", "info"]:
            for name in ["h.png", "h", "h.svg.gz"]:
                self.assertIn(".svg", self.error(command, self.spd(), "--plot", str(self.folder / name), code=USAGE))
        self.run_tool("info", self.spd(), "--plot", str(self.folder / "h.SVG"))

    def test_overwriting_keeps_permissions(self):
        for option, name in [("-o", "x.mtx"), ("--plot", "x.svg")]:
            out = pathlib.Path(self.file(name, "old"))
            for mode in [0o600, 0o664]:
                out.chmod(mode)
                self.run_tool("solve", self.spd(), option, str(out))
                self.assertEqual(out.stat().st_mode & 0o777, mode)
                self.assertNotEqual(out.read_text(), "old")
        new = self.folder / "new.svg"
        self.run_tool("solve", self.spd(), "--plot", str(new), preexec_fn=lambda: os.umask(0o027))
        self.assertEqual(new.stat().st_mode & 0o777, 0o640)

    def test_failed_write_json(self):
        done = self.run_tool("generate", "hilbert", "-o", "/nowhere/A.mtx", "--json", code=RESOURCES)
        error = json.loads(done.stdout)["error"]
        self.assertEqual((error["kind"], error["file"], error["exit_code"]),
                         ("WriteError", "/nowhere/A.mtx", RESOURCES))


class StandardStreams(ToolTest):
    """The file name "-"."""

    def piped(self, content, *arguments, code=SOLVED):
        content = content if isinstance(content, bytes) else content.encode()
        done = subprocess.run([TOOL, *arguments], input=content, capture_output=True, timeout=60, cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_matrix_from_stdin(self):
        matrix = tridiagonal(100, 4, -1, -1)
        for content in [matrix.encode(), gzip.compress(matrix.encode())]:
            report = json.loads(self.piped(content, "solve", "-", "--json", "--quiet").stdout)
            self.assertEqual((report["matrix"]["file"], report["matrix"]["nonzeros"]), ("-", 298))
        for command in ["info", "rank", "rref", "invert"]:
            self.assertIn(b"100 x 100", self.piped(matrix, command, "-").stdout)
        self.assertIn(b"standard input: 100 x 100", self.piped(matrix, "solve", "/dev/stdin").stdout)

    def test_rhs_from_stdin(self):
        matrix = self.file("A.mtx", tridiagonal(4, 4, -1, -1))
        for content in ["2\n4\n6\n13\n", array([[2, 4, 6, 13]]), gzip.compress(b"2 \n4 \n6 \n13")]:
            self.piped(content, "solve", matrix, "--rhs", "-", "-o", "x.mtx", "--method", "lapack-lu")
            for x, exact in zip(read_array(self.folder / "x.mtx")[0], [1, 2, 3, 4]):
                self.assertAlmostEqual(x, exact)
        done = self.piped(array([[1, 2]])[:-4], "solve", matrix, "--rhs", "-", code=BAD_INPUT)
        self.assertIn(b"error: standard input:", done.stderr)

    def test_stdin_for_two_inputs_is_refused(self):
        done = self.piped(tridiagonal(4, 4, -1, -1), "solve", "-", "--rhs", "-", code=USAGE)
        self.assertIn(b"standard input", done.stderr)

    def test_solution_to_stdout(self):
        done = self.piped(tridiagonal(4, 4, -1, -1), "solve", "-", "-o", "-", "--method", "lapack-lu")
        self.assertIn(b"Solved: ", done.stderr)
        (self.folder / "x.mtx").write_bytes(done.stdout)
        self.assertEqual(len(read_array(self.folder / "x.mtx")[0]), 4)
        done = self.piped(tridiagonal(4, 4, -1, -1), "solve", "-", "-o", "/dev/stdout", "--json", "--quiet")
        self.assertEqual(json.loads(done.stderr)["output"], "-")
        self.assertTrue(done.stdout.startswith(b"%%MatrixMarket"))
        self.assertEqual([path.name for path in self.folder.iterdir()], ["x.mtx"])

    def test_stdout_to_file_appends(self):
        log = self.folder / "log"
        with open(log, "w") as stream:
            for _ in range(2):
                subprocess.run([TOOL, "generate", "hilbert", "-p", "n=2", "-o", "-", "--quiet"], stdout=stream,
                               stderr=subprocess.DEVNULL, check=True, timeout=60)
        self.assertEqual(log.read_text().count("%%MatrixMarket"), 2)

    def test_closed_streams_lose_nothing(self):
        matrix = self.spd()
        for arguments in [["-o", "-"], ["--json"], []]:
            closed = f"exec '{TOOL}' solve '{matrix}' {' '.join(arguments)} >&-"
            done = subprocess.run(["sh", "-c", closed], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, RESOURCES, arguments)
            self.assertIn("standard output: cannot be written", done.stderr)
        closed = f"exec '{TOOL}' solve '{matrix}' -o '{self.folder}/x.mtx' 0<&- 2>&-"
        done = subprocess.run(["sh", "-c", closed], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (SOLVED, ""))
        self.assertEqual(len(read_array(self.folder / "x.mtx")[0]), 100)

    def test_broken_pipe_leaves_no_file(self):
        scratch = self.folder / "scratch"
        scratch.mkdir()
        process = subprocess.Popen([TOOL, "generate", "poisson-2d", "--rows", "40000", "-o", "-"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "TMPDIR": str(scratch)})
        process.stdout.close()
        self.assertEqual(process.wait(timeout=60), -signal.SIGPIPE)
        self.assertEqual(list(scratch.iterdir()), [])

    def test_pipeline_of_commands(self):
        graph = self.piped("", "generate", "grid-2d", "--rows", "9", "-p", "form=adjacency", "-o", "-").stdout
        converted = self.piped(graph, "convert", "-", "-", "--as", "laplacian", "--to", "petsc").stdout
        info = json.loads(self.piped(converted, "info", "-", "--json").stdout)
        self.assertEqual((info["rows"], info["file_format"]), (9, "petsc"))
        self.assertTrue(self.piped(converted, "info", "-", "--plot", "-").stdout.startswith(b"<svg"))


class RightHandSides(ToolTest):
    def solution(self, matrix, *arguments):
        out = self.folder / "x.mtx"
        report = self.report(matrix, *arguments, "--method", "lapack-lu", "-o", str(out), "--quiet")
        return report, read_array(out)[0]

    def identity(self, n):
        return self.file("I.mtx", coordinate(n, n, [(i, i, 1) for i in range(1, n + 1)]))

    def test_row_sums_rhs_gives_ones(self):
        report, x = self.solution(self.spd(), "--rhs", "row-sums")
        self.assertEqual(report["right_hand_side"], {"source": "A*1", "file": None, "seed": None, "columns": 1})
        self.assertLess(max(abs(value - 1) for value in x), 1e-14)
        self.assertIsNotNone(report["distance_from_ones"])

    def test_ones_rhs(self):
        report, x = self.solution(self.file("A.mtx", array([[2, 0], [0, 4]])), "--rhs", "ones")
        self.assertEqual((report["right_hand_side"]["source"], x), ("ones", [0.5, 0.25]))
        self.assertIsNone(report["distance_from_ones"])

    def test_random_rhs_depends_on_seed_only(self):
        n = 1000
        first = self.solution(self.identity(n), "--rhs", "random")
        self.assertEqual((first[0]["right_hand_side"]["source"], first[0]["right_hand_side"]["seed"]), ("random", 1))
        self.assertEqual(self.solution(self.identity(n), "--rhs", "random:1")[1], first[1])
        self.assertNotEqual(self.solution(self.identity(n), "--rhs", "random:2")[1], first[1])
        self.assertTrue(all(-1 <= value < 1 for value in first[1]))
        self.assertLess(abs(sum(first[1])) / n, 0.1)
        self.assertAlmostEqual(sum(value * value for value in first[1]) / n, 1 / 3, delta=0.05)

    def test_range_rhs_is_a_times_random(self):
        matrix = self.file("A.mtx", array([[2, 0], [0, 4]]))
        report, x = self.solution(matrix, "--rhs", "range:5")
        self.assertEqual((report["right_hand_side"]["source"], report["right_hand_side"]["seed"]), ("A*v", 5))
        v = self.solution(self.identity(2), "--rhs", "random:5")[1]
        for one, other in zip(x, v):
            self.assertAlmostEqual(one, other)

    def test_laplacian_default_rhs_is_nonzero(self):
        # Weights whose row sums vanish up to rounding only; two components.
        edges = [(1, 2, 0.1), (2, 3, 0.7), (3, 1, 1 / 3), (4, 5, 0.3)]
        both = edges + [(j, i, w) for i, j, w in edges]
        graph = self.file("graph.mtx", coordinate(5, 5, both))
        for arguments in [["--as", "laplacian"], ["--as", "laplacian", "--precision", "float"]]:
            out = self.folder / "x.mtx"
            report = self.report(graph, *arguments, "--method", "cg", "-o", str(out), "--quiet")
            self.assertEqual(report["right_hand_side"], {"source": "A*v", "file": None, "seed": 1, "columns": 1})
            self.assertTrue(report["solved"])
            self.assertGreater(max(abs(value) for value in read_array(out)[0]), 0.01)
            self.assertIsNone(report["distance_from_ones"])
        text = self.run_tool("solve", graph, "--as", "laplacian", "--method", "cg").stdout
        self.assertIn("b = A v, v random (seed 1), as A * 1 = 0 and no --rhs was given", text)
        done = self.run_tool("solve", graph, "--as", "laplacian", "--method", "cg", "--json")
        self.assertIn("note: b = A v", done.stderr)
        path = self.file("path.mtx", coordinate(2, 2, [(1, 2, 1), (2, 1, 1)]))
        report = self.report(path, "--as", "laplacian", "--method", "cg", "--rhs", "row-sums")
        self.assertEqual((report["right_hand_side"]["source"], report["iterations"]), ("A*1", 0))

    def test_text_columns_rhs(self):
        matrix = self.file("A.mtx", array([[2, 0], [0, 4]]))
        for name, content in [("b.txt", "2\n4\n"), ("b", "# from numpy.savetxt\n2.0e+00\n\n+4.0\n"),
                              ("b.csv", "2,4\r\n4,8\r\n"), ("b.dat", "  2\t4\n4 8"),
                              ("b.txt.gz", gzip.compress(b"% comment\n2\n4\n"))]:
            with self.subTest(name):
                report, x = self.solution(matrix, "--rhs", self.file(name, content))
                self.assertEqual(x, [1, 1])
                self.assertEqual(report["right_hand_side"]["columns"], 2 if name in ["b.csv", "b.dat"] else 1)
        report, x = self.solution(matrix, "--rhs", self.file("c.txt", array([[2, 8]])))
        self.assertEqual(x, [1, 2])

    def test_malformed_text_columns_name_place(self):
        for content, place in [("1\n2 3\n", ":2:3"), ("1\n x\n", ":2:2"), ("1\nnan\n", ":2:1"), ("1\n1e999\n", ":2:1")]:
            path = self.file("b.txt", content)
            self.assertIn(path + place, self.error("solve", self.spd(), "--rhs", path, code=BAD_INPUT))
        for content in ["", "one\n"]:
            self.error("solve", self.spd(), "--rhs", self.file("b.txt", content), code=BAD_INPUT)
        self.error("solve", self.spd(), "--rhs", self.file("b.txt", "1\n2\n"), code=BAD_INPUT)
        for kind in ["random:", "random:x", "range:-1", "ones.txt"]:
            self.error("solve", self.spd(), "--rhs", kind, code=BAD_INPUT if kind == "ones.txt" else USAGE)


class Interrupts(ToolTest):
    def slow(self, *arguments, **kwargs):
        """Starts a solve that takes hours; returns the process after one second."""
        matrix = self.file("slow.mtx", tridiagonal(20000, 2, -1, -1))
        process = self.started("solve", matrix, "--method", "jacobi", "--rtol", "0", "--max-iterations",
                               "1000000000000", *arguments, **kwargs)
        time.sleep(1)
        self.assertIsNone(process.poll(), "it ended by itself")
        return process

    def started(self, *arguments, **kwargs):
        process = subprocess.Popen([TOOL, *arguments], text=True, **kwargs)
        self.addCleanup(process.kill)
        status = pathlib.Path(f"/proc/{process.pid}/status")
        while process.poll() is None and not self.catches_interrupts(status):
            time.sleep(0.02)
        return process

    def catches_interrupts(self, status):
        if not status.exists():
            self.skipTest("needs /proc")
        caught = re.search(r"SigCgt:\s*(\w+)", status.read_text())
        return caught is not None and int(caught.group(1), 16) >> (signal.SIGINT - 1) & 1 == 1

    def test_signal_keeps_report_and_best_x(self):
        for number in [signal.SIGINT, signal.SIGTERM]:
            out = self.folder / "x.mtx"
            process = self.slow("--json", "--quiet", "-o", str(out), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
            process.send_signal(number)
            stdout, stderr = process.communicate(timeout=60)
            self.assertEqual((process.returncode, stderr), (NOT_CONVERGED, ""))
            report = json.loads(stdout)
            self.assertEqual(report["status"], "cancelled")
            self.assertGreater(report["iterations"], 0)
            self.assertTrue(all(math.isfinite(value) for value in read_array(out)[0]))
            out.unlink()

    def test_signal_prints_note(self):
        process = self.slow(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
        self.assertIn("stopping", stderr)
        self.assertTrue(stdout.startswith("Not solved: jacobi was cancelled after "))

    def test_second_signal_ends_process(self):
        # The process waits for a reader of the pipe, and so cannot react to the first signal.
        pipe = self.folder / "pipe.mtx"
        os.mkfifo(pipe)
        for number in [signal.SIGINT, signal.SIGTERM]:
            process = self.started("solve", self.spd(), "-o", str(pipe), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(0.5)
            process.send_signal(number)
            time.sleep(0.2)
            self.assertIsNone(process.poll())
            process.send_signal(number)
            stdout, _ = process.communicate(timeout=60)
            self.assertEqual((process.returncode, stdout), (-number, ""))  # 128 + number in a shell

    def test_signal_during_metis(self):
        matrix = self.folder / "box.petsc"
        self.run_tool("generate", "poisson-3d", "--rows", "50000", "-o", str(matrix), "--quiet")
        for number in [signal.SIGTERM, signal.SIGINT]:
            for delay in [0.1, 0.2, 0.4]:
                process = self.started("solve", matrix, "--method", "sparse-cholesky", "-p", "ordering=metis", "--json",
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                time.sleep(delay)
                process.send_signal(number)
                stdout, stderr = process.communicate(timeout=60)
                if process.returncode != SOLVED:  # the signal came before the end
                    self.assertEqual(process.returncode, NOT_CONVERGED, stderr)
                    self.assertEqual(json.loads(stdout)["status"], "cancelled")

    def test_killed_writer_leaves_no_file(self):
        matrix = self.folder / "A.petsc"
        self.run_tool("generate", "poisson-2d", "--rows", "200000", "-o", str(matrix), "--quiet")
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]:
            for delay in [0.1, 0.2, 0.3]:
                process = subprocess.Popen([TOOL, "convert", str(matrix), str(self.folder / "A.mtx.gz"), "--quiet"])
                time.sleep(delay)
                process.send_signal(number)
                process.wait(timeout=60)
                names = {path.name for path in self.folder.iterdir()}
                self.assertLessEqual(names, {"A.petsc", "A.mtx.gz"})

    def test_progress_on_terminal_only(self):
        leader, follower = pty.openpty()
        process = self.slow(stdout=subprocess.PIPE, stderr=follower, env={**os.environ, "TERM": "xterm"})
        os.close(follower)
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=60)
        shown = b""
        while select.select([leader], [], [], 0.2)[0]:
            try:
                shown += os.read(leader, 65536)
            except OSError:  # the process has closed the terminal
                break
        os.close(leader)
        self.assertRegex(shown.decode(), r"jacobi: iteration [\d,]+, relative residual \d\.\d+e")
        self.assertNotIn("\033", stdout)


class Info(ToolTest):
    def info(self, content):
        return json.loads(self.run_tool("info", self.file("A.mtx", content), "--json").stdout)

    def test_symmetric_matrix(self):
        found = self.info(tridiagonal(10, 2, -1, -1))
        self.assertEqual((found["rows"], found["columns"], found["nonzeros"]), (10, 10, 28))
        self.assertTrue(found["symmetric_pattern"] and found["symmetric_values"])
        self.assertEqual((found["bandwidth"], found["structural_rank"]), (1, 10))
        self.assertEqual((found["strictly_dominant_rows"], found["weakly_dominant_rows"]), (2, 10))
        self.assertEqual((found["smallest_magnitude"], found["largest_magnitude"]), (1, 2))
        self.assertGreaterEqual(len(found["candidates"]), 1)

    def test_duplicates_zeros_and_empty_rows(self):
        entries = [(1, 1, 1), (1, 1, 2), (1, 2, 5), (4, 1, 7), (4, 2, 0)]
        found = self.info(coordinate(4, 4, entries))
        self.assertEqual(found["duplicate_entries"], 1)
        self.assertEqual(found["explicit_zeros"], 1)
        self.assertEqual(found["empty_rows"], 2)
        self.assertEqual(found["structural_rank"], 2)
        self.assertEqual(found["zero_diagonals"], 3)
        self.assertFalse(found["symmetric_pattern"])
        self.assertEqual((found["lower_bandwidth"], found["upper_bandwidth"]), (3, 1))

    def test_rectangular_and_dense_matrices(self):
        found = self.info(coordinate(2, 5, [(1, 5, 1), (2, 1, 1)]))
        self.assertEqual((found["rows"], found["columns"], found["structural_rank"]), (2, 5, 2))
        self.assertIsNone(found["asymmetry"])
        self.assertEqual([candidate["method"] for candidate in found["candidates"]], ["qr", "lsmr"])
        self.assertEqual(self.info(array([[1, 2], [3, 4]]))["format"], "array")

    def test_text_summary_content(self):
        done = self.run_tool("info", self.spd())
        self.assertEqual(done.stderr, "")
        for words in ["100 x 100", "298", "symmetric, in pattern and in values", "structural rank", "solve would try"]:
            self.assertIn(words, done.stdout)

    def test_empty_matrix(self):
        self.assertEqual(self.info(coordinate(3, 3, []))["structural_rank"], 0)

    def test_hierarchy(self):
        matrix = str(self.folder / "grid.mtx")
        self.run_tool("generate", "poisson-2d", "--rows", "2500", "-o", matrix)
        found = json.loads(self.run_tool("info", matrix, "--hierarchy", "--json").stdout)["hierarchy"]
        rows = [level["rows"] for level in found["levels"]]
        self.assertEqual(rows[0], 2500)
        self.assertGreaterEqual(len(rows), 2)
        self.assertEqual(rows, sorted(rows, reverse=True))
        nonzeros = [level["nonzeros"] for level in found["levels"]]
        self.assertAlmostEqual(found["operator_complexity"], sum(nonzeros) / nonzeros[0])
        self.assertAlmostEqual(found["grid_complexity"], sum(rows) / rows[0])
        self.assertEqual(found["levels"][-1]["method"], "inverse")
        self.assertIn("M-matrix", found["coarsening_reason"])
        self.assertIn("level 1", self.run_tool("info", matrix, "--hierarchy").stdout)
        self.assertNotIn("hierarchy", json.loads(self.run_tool("info", matrix, "--json").stdout))

    def test_hierarchy_of_grids(self):
        matrix, plot = (str(self.folder / name) for name in ["grid.mtx", "levels.svg"])
        self.run_tool("generate", "poisson-3d", "-p", "nx=15", "-p", "ny=11", "-p", "nz=7", "-o", matrix)
        for method, coarse, coarsening in [("geometric-multigrid", 7 * 5 * 3, "grid 15x11x7"), ("multigrid", 577, "grid 1155")]:
            found = json.loads(self.run_tool("info", matrix, "--hierarchy", "--method", method, "--plot", plot,
                                             "-p", "cycle=w" if method == "geometric-multigrid" else "sweeps=1",
                                             "--json").stdout)["hierarchy"]
            self.assertEqual([level["rows"] for level in found["levels"]][:2], [1155, coarse])
            self.assertEqual(found["coarsening"], coarsening)
            self.assertEqual(found["end"], "the level is small")
            with open(plot, encoding="utf-8") as picture:
                self.assertIn("level 1", picture.read())

    def test_hierarchy_of_lamg(self):
        matrix, plot = (str(self.folder / name) for name in ["graph.mtx", "levels.svg"])
        self.run_tool("generate", "chimera", "-p", "n=3000", "-o", matrix)
        found = json.loads(self.run_tool("info", matrix, "--hierarchy", "--method", "lamg", "--plot", plot,
                                         "--json").stdout)["hierarchy"]
        rows = [level["rows"] for level in found["levels"]]
        self.assertEqual(rows[0], 3000)
        self.assertEqual(rows, sorted(rows, reverse=True))
        self.assertEqual(found["levels"][0]["method"], "elimination")
        with open(plot, encoding="utf-8") as picture:
            self.assertIn("level 1", picture.read())
        directed = self.file("directed.mtx", coordinate(2, 2, [(1, 1, 1), (1, 2, -1), (2, 2, 1)]))
        self.assertIn("not symmetric", self.error("info", directed, "--hierarchy", "--method", "lamg",
                                                  code=BAD_INPUT))
        text = self.run_tool("info", matrix, "--hierarchy", "--method", "lamg", "-p", "parallel=true").stdout
        self.assertIn("jacobi", text)

    def test_coordinates(self):
        matrix, xyz, plot = (str(self.folder / name) for name in ["plate.mtx", "xyz.mtx", "levels.svg"])
        self.run_tool("generate", "elasticity-2d", "--rows", "4000", "-o", matrix, "--coordinates", xyz)
        report = json.loads(self.run_tool("solve", matrix, "--method", "cg", "-p", "preconditioner=amg",
                                          "--coordinates", xyz, "--json").stdout)
        self.assertEqual(report["status"], "converged")
        self.assertLessEqual(report["iterations"], 30)
        found = json.loads(self.run_tool("info", matrix, "--hierarchy", "--coordinates", xyz, "--plot", plot,
                                         "--json").stdout)["hierarchy"]
        self.assertEqual(found["near_null_space"], 3)
        short = self.file("short.mtx", "%%MatrixMarket matrix array real general\n2 2\n0\n1\n0\n1\n")
        self.assertIn("short.mtx: 2 nodes of 2 unknowns each, A has",
                      self.error("solve", matrix, "--method", "amg", "--coordinates", short, code=BAD_INPUT))
        self.assertIn("short.mtx: near-null-space vectors of length 2, A has",
                      self.error("info", matrix, "--hierarchy", "--near-null-space", short, code=BAD_INPUT))
        with open(plot, encoding="utf-8") as picture:
            self.assertIn("level 1", picture.read())

    def test_dependencies(self):
        # In a forward sweep rows 2 and 3 depend on row 1; in a backward sweep row 1 depends on row 4.
        matrix = self.file("A.mtx", coordinate(4, 4, [(1, 1, 1), (2, 1, 1), (3, 1, 1), (1, 4, 1)]))
        found = json.loads(self.run_tool("info", matrix, "--dependencies", "--json").stdout)["dependencies"]
        self.assertEqual(found["forward"],
                         {"levels": 2, "dependencies": 2, "dependent_rows": 2, "mean_dependencies": 0.5,
                          "most_dependencies": 1, "largest_level": 2, "smallest_level": 2, "launches": 2})
        self.assertEqual((found["backward"]["levels"], found["backward"]["largest_level"]), (2, 3))
        self.assertIn("2 levels of 2 to 2 rows", self.run_tool("info", matrix, "--dependencies").stdout)
        self.assertNotIn("dependencies", json.loads(self.run_tool("info", matrix, "--json").stdout))
        wide = self.file("wide.mtx", coordinate(2, 5, [(1, 5, 1)]))
        self.assertIn("square", self.error("info", wide, "--dependencies", code=BAD_INPUT))

    def test_predicted_factor(self):
        found = self.info(tridiagonal(10, 2, -1, -1))
        self.assertEqual((found["predicted_factor_entries"], found["predicted_factor_flops"], found["ordering"]),
                         (19, 37, "amd"))
        self.assertGreaterEqual(found["predicted_factor_bytes"], 19 * 8)
        self.assertEqual((found["block_triangular_blocks"], found["largest_block"]), (1, 10))
        unsymmetric = self.info(tridiagonal(10, 2, -1, -3))
        self.assertEqual((unsymmetric["predicted_factor_entries"], unsymmetric["predicted_factor_flops"]), (28, 74))
        triangular = self.info(coordinate(4, 4, [(1, 2, 1), (2, 3, 1), (2, 2, 5), (3, 4, 1), (4, 1, 1)]))
        self.assertEqual((triangular["block_triangular_blocks"], triangular["largest_block"]), (4, 1))

    def test_predicted_factor_is_of_square_sparse_matrices(self):
        wide = coordinate(2, 5, [(1, 5, 1), (2, 1, 1)])
        for content in [wide, array([[1, 2], [3, 4]])]:
            found = self.info(content)
            for name in ["block_triangular_blocks", "largest_block", "predicted_factor_entries",
                         "predicted_factor_flops", "predicted_factor_bytes", "ordering"]:
                self.assertIsNone(found[name], name)
        self.assertIn("square", self.error("info", self.file("wide.mtx", wide), "--factor", code=BAD_INPUT))
        dense = self.file("dense.mtx", array([[1, 2], [3, 4]]))
        self.assertIn("sparse", self.error("info", dense, "--order", "amd", code=BAD_INPUT))

    def test_order(self):
        # An arrow whose first row is full fills up unless that row comes last.
        arrow = self.file("arrow.mtx", coordinate(30, 30, [(i, i, 2) for i in range(1, 31)] +
                                                  [(i, 1, 1) for i in range(2, 31)] + [(1, i, 1) for i in range(2, 31)]))
        entries = {}
        for order in ["auto", "amd", "dissection", "metis", "rcm", "natural", "btf"]:
            found = json.loads(self.run_tool("info", arrow, "--order", order, "--json").stdout)
            entries[order] = found["predicted_factor_entries"]
        self.assertEqual(entries["natural"], 30 * 31 // 2)
        self.assertEqual((entries["auto"], entries["amd"], entries["btf"]), (59, 59, 59))
        self.assertIn("did you mean 'amd'", self.error("info", arrow, "--order", "amdd", code=USAGE))


class Elimination(ToolTest):
    """The commands factor, rank, rref and invert."""

    def wide(self):
        """Rank 2: the third row is the sum of the others; columns 1 and 3 are multiples of column 0."""
        rows = [[1, 2, 0, 3, 1], [0, 0, 1, 0, 1], [1, 2, 1, 3, 2]]
        return self.file("wide.mtx", array([[row[j] for row in rows] for j in range(5)]))

    def test_rank_and_gap(self):
        report = self.json("rank", self.wide())
        self.assertEqual((report["rank"], report["rows"], report["columns"]), (2, 3, 5))
        self.assertGreater(report["smallest_accepted_pivot"], 0.1)
        self.assertLessEqual(report["largest_rejected_pivot"], report["tolerance"])
        self.assertFalse(report["doubtful"])
        self.assertEqual(report["status"], "direct")
        text = self.run_tool("rank", self.wide()).stdout
        self.assertTrue(text.startswith("Rank 2 of at most 3\n"), text)

    def test_certainty_of_hilbert_rank(self):
        matrix = self.file("hilbert.mtx", array([[1 / (i + j + 1) for i in range(20)] for j in range(20)]))
        report = self.json("rank", matrix)
        self.assertEqual((report["rank"], report["certainty"], report["doubtful"]), (20, "proven", False))
        self.assertRegex(self.run_tool("rank", matrix).stdout, "certainty +proven")
        given = self.json("rank", matrix, "--tolerance", "1e-13")
        self.assertTrue(given["doubtful"])
        self.assertEqual(given["certainty"], "to working precision")
        self.assertEqual(len(given["warnings"]), 1)
        self.assertLess(given["gap"], 1000)
        coarse = self.json("rank", matrix, "--tolerance", "1e-3")
        self.assertLess(coarse["rank"], given["rank"])

    def laplacian(self, n, edges):
        """Laplacian of a connected graph, of rank n - 1."""
        entries = {(i, i): 0 for i in range(1, n + 1)}
        for i, j in edges:
            entries[i, j] = entries[j, i] = -1
            entries[i, i] += 1
            entries[j, j] += 1
        return self.file("laplacian.mtx", coordinate(n, n, [(i, j, v) for (i, j), v in entries.items()]))

    def test_ranks_of_laplacians(self):
        for n in [8, 23, 30, 47]:
            complete = [(i, j) for i in range(1, n + 1) for j in range(i + 1, n + 1)]
            star = [(1, j) for j in range(2, 4 * n)]
            ring = [(j, j + 1) for j in range(2, n)] + [(2, n)]
            bipartite = [(i, j) for i in range(1, n // 2) for j in range(n // 2, n + 1)]
            for size, edges in [(n, complete), (4 * n - 1, star), (n, [(1, j) for j in range(2, n + 1)] + ring),
                                (n, bipartite)]:
                matrix = self.laplacian(size, edges)
                for method in ["gauss-jordan", "mapped-echelon"]:
                    report = self.json("rank", matrix, "--method", method)
                    self.assertEqual((report["rank"], report["certainty"], report["doubtful"]),
                                     (size - 1, "proven", False))
                for method in ["sparse-lu", "gauss-jordan", "mapped-echelon"]:
                    done = self.report(matrix, "--method", method)  # the default b is in the range
                    self.assertEqual((done["rank"], done["status"]), (size - 1, "underdetermined"), method)
                self.assertEqual(self.json("rref", matrix)["determinant"]["sign"], 0)
                self.assertEqual(self.json("invert", matrix, code=NO_SOLUTION)["status"], "singular")

    def test_ranks_of_triangles(self):
        for generator, rows in [("kahan", 100), ("kahan", 200), ("triw", 60), ("triw", 100)]:
            matrix = str(self.folder / "T.mtx")
            self.run_tool("generate", generator, "--rows", str(rows), "-o", matrix)
            for method in ["gauss-jordan", "mapped-echelon"]:
                report = self.json("rank", matrix, "--method", method)
                self.assertEqual((report["rank"], report["certainty"], report["doubtful"]), (rows, "proven", False))

    def test_rank_in_any_units(self):
        matrix = self.file("units.mtx", coordinate(5, 5, [(1, 1, 1e-300)] + [(i, i, 1) for i in range(2, 6)]))
        report = self.json("rref", matrix)
        self.assertEqual((report["rank"], report["doubtful"]), (5, False))
        self.assertAlmostEqual(report["determinant"]["value"] / 1e-300, 1)
        self.assertEqual(self.json("invert", matrix)["status"], "direct")
        self.assertEqual(self.json("rank", matrix)["rank"], 5)

    def test_rounded_product_has_the_rank_of_its_factors(self):
        rng = random.Random(3)
        left = [[rng.gauss(0, 1) for _ in range(4)] for _ in range(20)]
        right = [[rng.gauss(0, 1) for _ in range(15)] for _ in range(4)]
        product = [[sum(left[i][k] * right[k][j] for k in range(4)) for i in range(20)] for j in range(15)]
        matrix = self.file("product.mtx", array(product))
        for method in ["gauss-jordan", "mapped-echelon"]:
            report = self.json("rank", matrix, "--method", method)
            self.assertEqual((report["rank"], report["certainty"], report["doubtful"]),
                             (4, "to working precision", False))

    def test_sparse_rank_and_rank_modulo_prime(self):
        six = self.file("six.mtx", coordinate(3, 3, [(1, 1, 6), (2, 2, 10), (3, 3, 15)]))
        for prime, rank in [(2, 1), (3, 1), (7, 3), (2147483647, 3)]:
            report = self.json("rank", six, "-p", f"field=mod:{prime}")
            self.assertEqual((report["rank"], report["method"]), (rank, "mapped-echelon"))
            self.assertFalse(report["doubtful"])
        report = self.json("rank", self.wide(), "--method", "mapped-echelon")
        self.assertEqual((report["rank"], report["status"]), (2, "direct"))
        self.assertEqual(len(report["statistics"]["free_unknowns"]), 3)
        text = self.run_tool("rank", self.wide(), "--method", "mapped-echelon").stdout
        self.assertTrue(text.startswith("Rank 2 of at most 3\n"), text)
        half = self.file("half.mtx", coordinate(2, 2, [(1, 1, 1), (2, 1, 0.5)]))
        self.assertIn("row 1, column 0", self.error("rank", half, "-p", "field=mod:2", code=BAD_INPUT))
        self.assertEqual(self.json("rank", half, "-p", "field=mod:7")["rank"], 1)
        self.assertIn("not a prime", self.error("rank", six, "-p", "field=mod:9", code=USAGE))
        self.assertIn("mapped-echelon", self.error("rank", six, "--method", "cg", code=USAGE))
        self.assertIn("--tolerance", self.error("rank", six, "--method", "gauss-jordan", "-p", "a=b", code=USAGE))

    def test_rref_writes_form_and_null_space(self):
        reduced, basis = str(self.folder / "R.mtx"), str(self.folder / "N.mtx.gz")
        report = self.json("rref", self.wide(), "-o", reduced, "--null-space", basis)
        self.assertEqual(report["pivot_columns"], [0, 2])
        self.assertEqual(sorted(report["row_permutation"]), [0, 1, 2])
        self.assertIsNone(report["determinant"])
        self.assertEqual((report["output"], report["null_space"]), (reduced, basis))
        self.assertEqual(read_array(reduced), [[1, 0, 0], [2, 0, 0], [0, 1, 0], [3, 0, 0], [1, 1, 0]])
        self.assertEqual(read_array(basis), [[-2, 1, 0, 0, 0], [-3, 0, 0, 1, 0], [-1, 0, -1, 0, 1]])

    def test_rref_prints_small_form(self):
        text = self.run_tool("rref", self.wide()).stdout
        self.assertIn("pivot columns", text)
        self.assertRegex(text, r"\n +1 +2 +0 +3 +1\n")

    def test_rref_by_the_striped_scheme(self):
        matrix = self.file("steep.mtx", array([[2, 1], [1, 3], [5, 10]]))  # (2 1 5; 1 3 10)
        reduced = str(self.folder / "R.mtx")
        for form in ["shortened", "published"]:
            report = self.json("rref", matrix, "--method", "gauss-jordan-striped", "-p", "stripe=1", "-p",
                               "second_pass=" + form, "-o", reduced)
            self.assertEqual((report["rank"], report["pivot_columns"]), (2, [0, 1]))
            for column, expected in zip(read_array(reduced), [[1, 0], [0, 1], [1, 3]]):
                for value, wanted in zip(column, expected):
                    self.assertAlmostEqual(value, wanted)
        for device in ("serial", "openmp:2"):
            self.assertEqual(self.json("rref", matrix, "--method", "gauss-jordan-striped", "--device", device)["device"], device)
        done = self.run_tool("rref", self.wide(), "--method", "gauss-jordan-striped", code=NO_SOLUTION)
        self.assertIn("Not reduced: breakdown", done.stdout)
        self.error("rref", matrix, "-p", "stripe=1", code=USAGE)
        self.error("rref", matrix, "--method", "lu", code=USAGE)
        self.error("rref", matrix, "--method", "gauss-jordan-striped", "--tolerance", "0.1", code=USAGE)
        self.assertIn("did you mean", self.error("rref", matrix, "--method", "gauss-jordan-striped", "-p", "strip=1", code=USAGE))

    def test_determinant_beyond_double_range(self):
        big = self.file("big.mtx", coordinate(2, 2, [(1, 2, 1e300), (2, 1, 1e300)]))
        determinant = self.json("rref", big)["determinant"]
        self.assertEqual(determinant["sign"], -1)
        self.assertAlmostEqual(determinant["log10"], 600)
        self.assertIsNone(determinant["value"])
        self.assertIn("-1.00000e+600", self.run_tool("rref", big).stdout)

    def test_factors_multiply_to_the_matrix(self):
        rows = [[1e-3, 2, 0], [4, 1, 1], [0, 3, 5]]
        matrix = self.file("A.mtx", array([[row[j] for row in rows] for j in range(3)]))
        for method in ["lu", "crout", "crout-parallel", "crout-iterative", "crout-blocked", "sparse-lu"]:
            folder = self.folder / method
            report = self.json("factor", matrix, "--method", method, "-o", str(folder))
            left, right = report["equation"].split(" = ")
            letters = {name: pathlib.Path(factor["file"]) for name, factor in report["factors"].items()}
            self.assertEqual(sorted(path.name for path in folder.iterdir()), sorted(f"{name}.mtx" for name in letters))
            self.assertEqual(sorted(set(left.split() + right.split()) - {"A", "+"}), sorted(letters))
            matrices = {name: dense_file(path) for name, path in letters.items()} | {"A": rows}
            sides = [functools.reduce(product, [matrices[name] for name in side.split()]) for side in (left, right)]
            for one, other in zip(sum(sides[0], []), sum(sides[1], [])):
                self.assertAlmostEqual(one, other, places=12)
            self.assertAlmostEqual(report["determinant"]["value"], 1e-3 * 2 - 2 * 20)
        symmetric = self.spd(10)
        self.assertIn("L L^T", self.run_tool("factor", symmetric, "--method", "sparse-cholesky").stdout)
        self.assertIn("L D L^T", self.run_tool("factor", symmetric, "--method", "ldlt").stdout)

    def test_factor_refuses_what_it_cannot_do(self):
        matrix = self.spd(10)
        self.assertIn("direct method", self.error("factor", matrix, "--method", "cg", code=USAGE))
        self.assertIn("no factors", self.error("factor", matrix, "--method", "gauss-jordan", code=USAGE))
        self.assertIn("name a folder", self.error("factor", matrix, "-o", matrix, code=USAGE))
        self.assertIn("name a folder", self.error("factor", matrix, "-o", "-", code=USAGE))
        self.error("factor", self.wide(), code=BAD_INPUT)
        indefinite = self.file("indefinite.mtx", array([[1, 2], [2, 1]]))
        done = self.run_tool("factor", indefinite, "--method", "cholesky", code=NO_SOLUTION)
        self.assertIn("Not factored: not_spd", done.stdout)

    def test_invert_small_matrix(self):
        inverse = str(self.folder / "X.mtx")
        matrix = self.file("A.mtx", array([[4, 2], [2, 3]]))
        report = self.json("invert", matrix, "-o", inverse)
        self.assertEqual(report["status"], "direct")
        self.assertLess(report["relative_residual"], 1e-14)
        self.assertAlmostEqual(report["reciprocal_condition"], 1 / (6 * 0.75))
        for column, wanted in zip(read_array(inverse), [[3 / 8, -1 / 4], [-1 / 4, 1 / 2]]):
            for element, value in zip(column, wanted):
                self.assertAlmostEqual(element, value)
        self.assertTrue(self.run_tool("invert", matrix).stdout.startswith("Inverted: by gauss-jordan\n"))

    def test_lower_precision_is_used_if_accurate(self):
        good = self.file("A.mtx", array([[4, 2, 1], [2, 3, 0], [1, 1, 7]]))
        bad = self.file("B.mtx", array([[1, 1], [1, 1 + 1e-9]]))
        options = ("--method", "gauss-jordan", "--device", "serial", "-p", "factor_precision=single")
        report = self.report(good, *options)
        self.assertEqual(report["factor_precision"], {"asked": "single", "used": "single", "why": None})
        self.assertLess(report["backward_error"], 1e-15)
        self.assertIn("factor precision", self.run_tool("solve", good, *options).stdout)
        report = self.report(bad, *options)
        self.assertEqual((report["status"], report["factor_precision"]["used"]), ("direct", "working"))
        self.assertTrue(report["factor_precision"]["why"])
        self.assertIsNone(self.report(good, "--method", "gauss-jordan")["factor_precision"])
        report = self.json("invert", good, "--factor-precision", "single", "--accuracy", "1e-5", "--device", "serial")
        self.assertEqual(report["factor_precision"]["used"], "single")
        report = self.json("invert", good, "--factor-precision", "single", "--device", "serial")
        self.assertEqual(report["factor_precision"]["used"], "working")
        self.run_tool("invert", good, "--factor-precision", "half", code=USAGE)

    def test_invert_singular_matrix(self):
        inverse = self.folder / "X.mtx"
        matrix = self.file("A.mtx", array([[1, 2], [2, 4]]))
        report = self.json("invert", matrix, "-o", str(inverse), code=NO_SOLUTION)
        self.assertEqual((report["status"], report["column"], report["output"]), ("singular", 1, None))
        self.assertFalse(inverse.exists())
        self.assertIn("depends on those before it", self.run_tool("invert", matrix, code=NO_SOLUTION).stdout)

    def test_underdetermined_and_inconsistent(self):
        matrix = self.file("A.mtx", array([[1, 2], [2, 4]]))
        solution = str(self.folder / "x.mtx")
        report = self.report(matrix, "--method", "gauss-jordan", "-o", solution)
        self.assertEqual(report["status"], "underdetermined")
        x = read_array(solution)[0]
        self.assertAlmostEqual(x[0] + 2 * x[1], 3)
        right = self.file("b.mtx", array([[1, 1]]))
        report = self.report(matrix, "--rhs", right, "--method", "gauss-jordan", code=NO_SOLUTION)
        self.assertEqual(report["status"], "inconsistent")
        self.assertIn(report["row"], (0, 1))

    def test_nan_is_reported_with_place(self):
        matrix = self.file("nan.mtx", array([[1, 2], [3, float("nan")]]))
        for command in ["rank", "rref", "invert"]:
            self.assertIn("nan.mtx:6:1: 'nan'", self.error(command, matrix, code=BAD_INPUT))

    def test_sparse_matrix_too_large_for_dense_is_refused(self):
        n = 3_000_000
        matrix = self.file("large.mtx", coordinate(n, n, [(1, 1, 1), (n, n, 1)]))
        for command in ["rank", "rref", "invert"]:
            message = self.error(command, matrix, code=RESOURCES)
            self.assertIn("3,000,000 x 3,000,000", message)
            self.assertIn("65.5 TiB asked for", message)

    def test_float_precision(self):
        report = self.json("rank", self.wide(), "--precision", "float", "--device", "serial")
        self.assertEqual((report["rank"], report["precision"], report["device"]), (2, "float", "serial"))

    def test_invalid_arguments_are_refused(self):
        matrix = self.wide()
        self.error("invert", matrix, code=BAD_INPUT)
        self.error("rank", "missing.mtx", code=BAD_INPUT)
        self.error("rref", matrix, "-o", str(self.folder / "no" / "R.mtx"), code=RESOURCES)
        for arguments in [["rank"], ["rank", matrix, "--tolerance", "2"], ["rank", matrix, "--tolerance", "x"],
                          ["rref", matrix, "--device", "gpu"], ["invert", matrix, "--precision", "half"]]:
            self.error(*arguments, code=USAGE)
        self.assertIn("did you mean", self.error("rref", matrix, "--nul-space", "N.mtx", code=USAGE))
        for command in ["rank", "rref", "invert"]:
            self.assertIn("usage", self.run_tool(command, "--help").stdout.lower())


class Pictures(ToolTest):
    def picture(self, path):
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        text = " ".join("".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text"))
        self.assertNotRegex(path.read_text(), r"\b(nan|inf)\b")
        return text

    def test_history_content(self):
        out = self.folder / "history.svg"
        self.run_tool("solve", self.file("a<&>\".mtx", tridiagonal(500, 2.001, -1, -1)), "--method", "cg",
                      "--plot", str(out))
        text = self.picture(out)
        for words in ["cg on a<&>\".mtx", "iteration", "relative residual", "tolerance 1e-08", "measured: "]:
            self.assertIn(words, text)

    def test_long_title_is_wrapped(self):
        name = "long_" * 40 + ".mtx"
        matrix = self.file(name, tridiagonal(50, 4, -1, -1))
        parameters = ["preconditioner=ssor", "restart=37", "preconditioner.omega=1.25", "preconditioner.sweeps=2"]
        options = [word for parameter in parameters for word in ("-p", parameter)]
        for number, arguments in enumerate([["solve", matrix, "--method", "gmres", *options], ["info", matrix]]):
            out = self.folder / f"{number}.svg"
            self.run_tool(*arguments, "--plot", str(out))
            text = self.picture(out).replace(" ", "")
            self.assertIn(name, text)
            root = xml.etree.ElementTree.parse(out).getroot()
            width, height = (float(word) for word in root.get("viewBox").split()[2:])
            for node in root.iter("{http://www.w3.org/2000/svg}text"):
                if node.get("class") == "title":  # bold, 19 px: wide letters take 13 px, narrow ones 5
                    self.assertLess(float(node.get("x")) + 10.6 * len(node.text), width)
                if node.get("y"):
                    self.assertLess(float(node.get("y")), height)

    def test_history_of_direct_method_explains(self):
        out = self.folder / "h.svg"
        self.run_tool("solve", self.spd(), "--method", "lapack-lu", "--plot", str(out))
        text = self.picture(out)
        self.assertIn("lapack-lu is a direct method: it has no convergence history", text)
        self.assertIn("measured: ", text)
        singular = self.file("singular.mtx", array([[1, 2], [2, 4]]))
        self.run_tool("solve", singular, "--method", "cholesky", "--plot", str(out), code=NO_SOLUTION)
        self.assertNotIn("measured: ", self.picture(out))

    def test_history_of_every_outcome(self):
        matrix = self.spd()
        growing = self.file("grow.mtx", coordinate(2, 2, [(1, 1, 1), (2, 2, 1), (1, 2, 10), (2, 1, 10)]))
        slow = self.file("slow.mtx", tridiagonal(300, 2, -1, -1))
        singular = self.file("singular.mtx", array([[1, 2], [2, 4]]))
        identity = self.file("identity.mtx", coordinate(2, 2, [(1, 1, 1), (2, 2, 1)]))
        for number, (arguments, code) in enumerate([
            ([matrix, "--method", "lapack-lu"], SOLVED),
            ([identity, "--method", "jacobi"], SOLVED),
            ([singular, "--method", "cholesky"], NO_SOLUTION),
            ([growing, "--method", "jacobi"], NOT_CONVERGED),
            ([slow, "--method", "jacobi", "--max-iterations", "20000"], NOT_CONVERGED),
            ([slow, "--method", "cg", "--max-iterations", "0"], NOT_CONVERGED),
        ]):
            out = self.folder / f"{number}.svg"
            self.run_tool("solve", *arguments, "--plot", str(out), code=code)
            self.picture(out)
            self.assertLess(out.stat().st_size, 100_000)

    def test_spy_of_various_shapes(self):
        for number, content in enumerate([
            tridiagonal(5, 2, -1, -1),
            tridiagonal(3000, 2, -1, -1),
            coordinate(3000, 2, [(3000, 2, 1)]),
            coordinate(1, 1, []),
            coordinate(0, 0, []),
            array([[1, 0], [3, 4]]),
        ]):
            out = self.folder / f"{number}.svg"
            self.run_tool("info", self.file("A.mtx", content), "--plot", str(out))
            text = self.picture(out)
            for words in ["A.mtx", "row", "column", "nonzeros"]:
                self.assertIn(words, text)

    def test_spy_draws_every_element(self):
        out = self.folder / "spy.svg"
        self.run_tool("info", self.file("A.mtx", coordinate(4, 4, [(1, 1, 1), (2, 4, 1), (4, 1, 1)])), "--plot", str(out))
        cells = [node for node in xml.etree.ElementTree.parse(out).iter("{http://www.w3.org/2000/svg}path")]
        self.assertEqual(sum(node.get("d").count("M") for node in cells), 3)


    def cells(self, picture):
        paths = xml.etree.ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}path")
        return sorted(cell for node in paths for cell in re.findall(r"M([0-9.]+) ([0-9.]+)", node.get("d")))

    def test_spy_of_a_reordered_matrix(self):
        # The permuted rows of a triangular matrix: 3, 1, 2.
        matrix = self.file("A.mtx", coordinate(3, 3, [(1, 2, 1), (2, 3, 1), (3, 1, 1), (1, 3, 1)]))
        plain, ordered = self.folder / "plain.svg", self.folder / "ordered.svg"
        self.run_tool("info", matrix, "--plot", str(plain))
        self.run_tool("info", matrix, "--plot", str(ordered), "--order", "btf")
        self.assertEqual(len(self.cells(ordered)), len(self.cells(plain)))
        self.assertTrue(all(float(x) + 0.5 >= float(y) for x, y in self.cells(ordered)))
        self.assertIn("order btf", self.picture(ordered))

    def test_spy_of_a_factor(self):
        out = self.folder / "factor.svg"
        for content, cells, name in [(tridiagonal(10, 2, -1, -1), 19, "L of"),
                                     (tridiagonal(10, 2, -1, -3), 28, "L and U of")]:
            self.run_tool("info", self.file("A.mtx", content), "--order", "natural", "--plot-factor", str(out))
            self.assertIn(name, self.picture(out))
            self.assertGreaterEqual(len(self.cells(out)), cells)
        self.error("info", self.spd(), "--plot-factor", "factor.png", code=USAGE)


class Generate(ToolTest):
    def summary(self, *arguments):
        done = self.run_tool("generate", *arguments, "--json")
        self.assertEqual((done.stdout.count("\n"), done.stderr), (1, ""))
        return json.loads(done.stdout)

    def test_list_matches_help(self):
        listed = json.loads(self.run_tool("generate", "--list", "--json").stdout)["generators"]
        table = self.run_tool("generate", "--list").stdout
        for generator in listed:
            self.assertRegex(table, rf"(?m)^{re.escape(generator['name'])} +{generator['family']} ")
            text = self.run_tool("--help", f"generator:{generator['name']}").stdout
            self.assertIn(generator["summary"], text)
            for option in generator["options"]:
                self.assertRegex(text, rf"(?m)^  {re.escape(option['name'])} ")
        self.assertGreater(len(listed), 50)

    def test_small_matrices_by_hand(self):
        out = self.folder / "A.mtx"
        done = self.summary("poisson-2d", "-p", "nx=2", "-p", "ny=1", "-o", str(out))
        self.assertEqual((done["rows"], done["columns"], done["nonzeros"]), (2, 2, 4))
        self.assertEqual((done["format"], done["seed"], done["output"]), ("coordinate", None, str(out)))
        data = [line for line in out.read_text().splitlines() if not line.startswith("%")]
        self.assertEqual(data, ["2 2 4", "1 1 4", "1 2 -1", "2 1 -1", "2 2 4"])
        self.summary("hilbert", "-p", "n=2", "-o", str(out))
        self.assertEqual(read_array(out), [[1, 0.5], [0.5, 1 / 3]])

    def test_generated_matrix_is_solved(self):
        out = str(self.folder / "A.mtx.gz")
        self.assertEqual(self.summary("poisson-3d", "--rows", "1000", "-o", out)["rows"], 1000)
        info = json.loads(self.run_tool("info", out, "--json").stdout)
        self.assertEqual((info["rows"], info["nonzeros"], info["symmetric_values"]), (1000, 6400, True))
        self.assertTrue(self.report(out)["solved"])

    def test_generated_formats(self):
        for name in ["A.npy", "A.petsc", "A.graph"]:
            out = str(self.folder / name)
            self.summary("grid-2d", "--rows", "100", "-p", "form=adjacency", "--precision", "float", "-o", out)
            info = json.loads(self.run_tool("info", out, "--json").stdout)
            self.assertEqual((info["rows"], info["nonzeros"] - info["explicit_zeros"]), (100, 360), name)
        self.error("generate", "frank", "-o", str(self.folder / "A.rua"), code=USAGE)
        self.error("generate", "tridiagonal", "-p", "lower=-3", "-o", str(self.folder / "A.graph"), code=BAD_INPUT)

    def test_command_in_comment_reproduces_matrix(self):
        first, second = self.folder / "1.mtx", self.folder / "2.mtx"
        done = self.summary("chimera", "--rows", "300", "--seed", "9", "-p", "weights=log-uniform",
                            "--precision", "float", "-o", str(first))
        self.assertEqual((done["rows"], done["seed"], done["precision"]), (300, 9, "float"))
        words = done["command"].split(": ", 1)[1].split()
        self.assertIn(done["command"], first.read_text())
        self.run_tool(*words, "-o", str(second))
        self.assertEqual(first.read_text(), second.read_text())
        self.assertNotEqual(self.summary("chimera", "--rows", "300")["nonzeros"], 0)

    def test_without_output_writes_nothing(self):
        done = self.run_tool("generate", "published-triangle", "--rows", "1000", cwd=self.folder)
        self.assertIn("1,999", done.stdout)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_invalid_arguments_are_refused(self):
        for arguments, words in [
            (["generate"], "--list"),
            (["generate", "poison-2d"], "did you mean 'poisson-2d'?"),
            (["generate", "poisson-2d", "-p", "nxx=3"], "did you mean 'nx'?"),
            (["generate", "poisson-2d", "-p", "nx=-3"], "0 <= x"),
            (["generate", "poisson-2d", "--rows", "many"], "--rows"),
            (["generate", "hilbert", "--seed", "3"], "takes no seed"),
            (["generate", "rmat", "--rows", "5"], "number of rows"),
            (["generate", "hilbert", "--precision", "dobule"], "did you mean 'double'?"),
            (["--help", "generator:hilbret"], "did you mean 'hilbert'?"),
        ]:
            with self.subTest(arguments=arguments):
                self.assertIn(words, self.error(*arguments, code=USAGE))
        self.assertIn("32-bit", self.error("generate", "poisson-2d", "--rows", "9000000000", code=BAD_INPUT))
        self.error("generate", "random-dense", "--rows", "100000000", code=RESOURCES)
        self.error("generate", "hilbert", "-o", "/nowhere/A.mtx", code=RESOURCES)


if __name__ == "__main__":
    unittest.main()
