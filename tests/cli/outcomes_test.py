#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests what the tool says of an x: solved, singular, inconsistent, and the digits that it promises.

Usage: outcomes_test.py PATH_OF_THE_TOOL [unittest arguments]
"""
import json
import math
import random
import unittest
from fractions import Fraction

import cli_test
from cli_test import NO_SOLUTION, SOLVED, ToolTest, coordinate, read_array

ANY = None


def laplacian(n, edges, sign=1):
    """Entries of the Laplacian of a graph with vertices from 0, times `sign`."""
    degree = [0] * n
    entries = []
    for u, v, *weight in edges:
        w = weight[0] if weight else 1
        degree[u] += w
        degree[v] += w
        entries += [(u + 1, v + 1, -sign * w), (v + 1, u + 1, -sign * w)]
    return entries + [(i + 1, i + 1, sign * d) for i, d in enumerate(degree) if d]


def complete(n):
    return n, [(u, v) for u in range(n) for v in range(u)]


def bipartite(m, n):
    return m + n, [(u, m + v) for u in range(m) for v in range(n)]


def star(n):
    return n, [(0, v) for v in range(1, n)]


def wheel(n):
    return n, [(0, v) for v in range(1, n)] + [(v, v % (n - 1) + 1) for v in range(1, n)]


def path(n):
    return n, [(v, v + 1) for v in range(n - 1)]


def grid(m):
    return m * m, [(k, k + 1) for k in range(m * m) if k % m < m - 1] + [(k, k + m) for k in range(m * m - m)]


def dense(rows):
    entries = [(i, j, repr(float(a))) for i, row in enumerate(rows, 1) for j, a in enumerate(row, 1) if a]
    return coordinate(len(rows), len(rows[0]), entries)


def product(rows, x):
    return [sum(a * c for a, c in zip(row, x)) for row in rows]


def vector(x):
    return "".join(f"{float(element)!r}\n" for element in x)


def solve_exactly(rows, b):
    """The solution of a nonsingular system as fractions."""
    n = len(rows)
    table = [[Fraction(a) for a in row] + [Fraction(c)] for row, c in zip(rows, b)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if table[i][k] != 0)
        table[k], table[pivot] = table[pivot], table[k]
        for i in range(k + 1, n):
            if table[i][k] != 0:
                factor = table[i][k] / table[k][k]
                table[i] = [a - factor * c for a, c in zip(table[i], table[k])]
    x = [Fraction(0)] * n
    for k in reversed(range(n)):
        x[k] = (table[k][n] - sum(table[k][j] * x[j] for j in range(k + 1, n))) / table[k][k]
    return x


class OutcomesTest(ToolTest):
    def solve(self, matrix, b, *words, code=SOLVED):
        """The report of a solve; `b`: name of a right-hand side, or its elements. code=ANY: of any."""
        if not isinstance(b, str):
            b = self.file("b.txt", vector(b))
        if code is not ANY:
            return self.report(matrix, "--rhs", b, *words, code=code)
        done = cli_test.subprocess.run([cli_test.TOOL, "solve", matrix, "--rhs", b, *words, "--json"],
                                       capture_output=True, text=True, timeout=120)
        return json.loads(done.stdout)

    def expect_refused(self, report, proven_only=False):
        self.assertFalse(report["solved"], report)
        self.assertEqual(report["exit_code"], NO_SOLUTION, report)
        if proven_only or report["status"] == "inconsistent":
            self.assertEqual((report["status"], report["certainty"]), ("inconsistent", "proven"), report)

    def expect_honest(self, report, rows, b, x_file):
        """Compares the promised digits with those of x."""
        x = read_array(x_file)[0]
        exact = solve_exactly(rows, b)
        size = max(abs(c) for c in exact)
        error = float(max(abs(Fraction(a) - c) for a, c in zip(x, exact)) / size)
        digits = min(16, -math.log10(error)) if error > 0 else 16
        self.assertLessEqual(report["expected_digits"] or 0, max(digits, 0) + 1, (report, error))
        return digits


class Singular(OutcomesTest):
    def test_right_hand_side_outside_the_range(self):
        graphs = [complete(5), complete(23), complete(30), bipartite(11, 11), bipartite(3, 7), star(128), wheel(39)]
        for n, edges in graphs:
            for sign in (1, -1):
                matrix = self.file("L.mtx", coordinate(n, n, laplacian(n, edges, sign)))
                b = [1.0] + [0.0] * (n - 1)
                for method in ("auto", "lu", "lapack-lu", "qr", "ldlt", "gauss-jordan", "sparse-lu", "sparse-ldlt",
                               "banded-lu", "mapped-echelon"):
                    with self.subTest(n=n, sign=sign, method=method):
                        report = self.solve(matrix, b, "--method", method, code=NO_SOLUTION)
                        self.expect_refused(report, method == "auto")
                        self.assertIn(report["rank"], (None, n - 1) if method == "auto" else (n - 1,))
                        least = self.solve(matrix, b, "--method", method, "--least-squares")
                        self.assertEqual(least["status"], "least_squares")
                        self.assertAlmostEqual(least["relative_residual"], 1 / math.sqrt(n), 9)

    def test_ranks_of_laplacians(self):
        for n, edges in (complete(30), star(128), wheel(39), bipartite(4, 9)):
            matrix = self.file("L.mtx", coordinate(n, n, laplacian(n, edges)))
            for words in (["--method", "mapped-echelon"], ["-p", "field=mod:2147483647"], []):
                self.assertEqual(json.loads(self.run_tool("rank", matrix, *words, "--json").stdout)["rank"], n - 1)

    def test_products_of_smaller_rank(self):
        random.seed(3)
        n, rank = 80, 66
        b_factor = [[random.randint(-3, 3) for _ in range(rank)] for _ in range(n)]
        columns = [[random.randint(-3, 3) for _ in range(n)] for _ in range(rank)]
        rows = [[sum(a * c[j] for a, c in zip(row, columns)) for j in range(n)] for row in b_factor]
        inside = product(rows, [1 + j % 3 for j in range(n)])
        outside = [c + (10 if i == 0 else 0) for i, c in enumerate(inside)]
        scales = [2.0 ** random.randint(-20, 20) for _ in range(n)]
        for scale in ([1.0] * n, scales):
            matrix = self.file("P.mtx", dense([[a * s for a, s in zip(row, scale)] for row in rows]))
            for method in ("auto", "gauss-jordan", "sparse-lu", "banded-lu", "mapped-echelon"):
                with self.subTest(method=method, scaled=scale is scales):
                    solved = self.solve(matrix, inside, "--method", method)
                    self.assertEqual((solved["status"], solved["rank"]), ("underdetermined", rank))
                    self.assertLessEqual(solved["relative_residual"], 1e-8)
                    refused = self.solve(matrix, outside, "--method", method, code=NO_SOLUTION)
                    self.expect_refused(refused, True)
                    self.assertEqual(refused["rank"], rank)

    def test_consistent_system_is_solved_by_name(self):
        rows = [[2, 1, 3], [4, 2, 6], [1, 0, 1]]
        matrix = self.file("A.mtx", dense(rows))
        for method in ("auto", "lu", "lapack-lu", "qr", "gauss-jordan", "sparse-lu", "banded-lu", "mapped-echelon"):
            with self.subTest(method=method):
                solved = self.solve(matrix, [6, 12, 2], "--method", method)
                self.assertEqual((solved["status"], solved["rank"]), ("underdetermined", 2))
                self.expect_refused(self.solve(matrix, [6, 11, 2], "--method", method, code=NO_SOLUTION), True)

    def test_zero_matrix(self):
        matrix = self.file("Z.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 0\n")
        for method in ("auto", "lamg", "approximate-cholesky", "bddc", "sparse-lu", "mapped-echelon"):
            with self.subTest(method=method):
                self.expect_refused(self.solve(matrix, "ones", "--method", method, code=NO_SOLUTION), True)
                least = self.solve(matrix, "ones", "--method", method, "--least-squares")
                self.assertEqual((least["status"], least["exit_code"]), ("least_squares", SOLVED))

    def test_sign_changes_nothing(self):
        n, edges = grid(10)
        b = [math.sin(3.0 * i) for i in range(n)]
        b[-1] -= math.fsum(b)
        for sign in (1, -1):
            matrix = self.file("N.mtx", coordinate(n, n, laplacian(n, edges, sign)))
            report = self.solve(matrix, [sign * c for c in b])
            self.assertLessEqual(report["relative_residual"], 1e-8)
            for method in ("minres", "amg", "lamg", "approximate-cholesky", "sparse-ldlt", "sparse-lu"):
                with self.subTest(sign=sign, method=method):
                    self.solve(matrix, [sign * c for c in b], "--method", method)


class NearlySingular(OutcomesTest):
    def test_hilbert_and_pascal_matrices(self):
        for name, sizes in (("hilbert", (12, 13, 16)), ("pascal", (20,))):
            for n in sizes:
                matrix = str(self.folder / "H.mtx")
                self.run_tool("generate", name, "--rows", str(n), "-o", matrix)
                for method in ("auto", "lu", "gauss-jordan", "sparse-lu", "sparse-ldlt", "banded-lu",
                               "mapped-echelon"):
                    with self.subTest(name=name, n=n, method=method):
                        report = self.report(matrix, "--method", method)
                        self.assertIn(report["status"], ("direct", "converged"))
                        self.assertLessEqual(report["relative_residual"], 1e-8)
                        self.assertIn(report["rank"], (None, n))
                        if report["expected_digits"] == 0:
                            self.assertTrue(report["warnings"])
                        ones = self.solve(matrix, "ones", "--method", method, code=ANY)
                        self.assertIn(ones["status"], ("direct", "converged", "singular"))

    def test_hilbert_matrices_in_float(self):
        for n in (6, 9):
            matrix = str(self.folder / "H.mtx")
            self.run_tool("generate", "hilbert", "--rows", str(n), "-o", matrix)
            for method in ("auto", "lu", "gauss-jordan", "sparse-lu", "banded-lu", "mapped-echelon"):
                with self.subTest(n=n, method=method):
                    report = self.report(matrix, "--method", method, "--precision", "float")
                    self.assertEqual((report["status"], report["rank"]), ("direct", n))
                    self.assertLessEqual(report["relative_residual"], 1e-4)

    def test_triangles_are_nonsingular(self):
        for name, n in (("kahan", 200), ("triw", 60)):
            matrix = str(self.folder / "T.mtx")
            self.run_tool("generate", name, "--rows", str(n), "-o", matrix)
            for method in ("auto", "lu", "gauss-jordan", "sparse-lu", "banded-lu", "mapped-echelon"):
                with self.subTest(name=name, method=method):
                    report = self.solve(matrix, "ones", "--method", method)
                    self.assertEqual((report["status"], report["rank"]), ("direct", n))
            for words in ([], ["--method", "mapped-echelon"]):
                self.assertEqual(json.loads(self.run_tool("rank", matrix, *words, "--json").stdout)["rank"], n)

    def test_weakly_grounded_path(self):
        for n, ground in ((60, 1e-11), (60, 1e-12), (25, 2.0 ** -40)):
            entries = laplacian(*path(n))
            entries = [(i, j, v + ground if i == j == n // 2 else v) for i, j, v in entries]
            b = [float((7 * i) % 11) - 4.0 for i in range(n)]
            matrix = self.file("P.mtx", coordinate(n, n, entries))
            rows = [[0.0] * n for _ in range(n)]
            for i, j, v in entries:
                rows[i - 1][j - 1] = v
            x = str(self.folder / "x.mtx")
            for method in ("auto", "cholesky", "sparse-cholesky", "amg", "geometric-multigrid", "cg", "minres",
                           "bddc", "lamg", "approximate-cholesky"):
                with self.subTest(n=n, ground=ground, method=method):
                    report = self.solve(matrix, b, "--method", method, "-o", x, code=ANY)
                    self.assertNotIn(report["status"], ("inconsistent", "not_spd", "underdetermined"))
                    if report["solved"]:
                        self.assertLessEqual(report["relative_residual"], 1e-8)
                        self.expect_honest(report, rows, b, x)
                    if method in ("auto", "cholesky", "sparse-cholesky"):
                        self.assertTrue(report["solved"], report)

    def test_large_grid_with_one_weak_ground(self):
        n, edges = grid(160)
        entries = [(i, j, v + 1e-12 if i == j == 1 else v) for i, j, v in laplacian(n, edges)]
        b = [0.0] * n
        b[0], b[-1] = 1.0, -1.0  # sums to zero: x_0 = 0
        x = str(self.folder / "x.mtx")
        report = self.solve(self.file("G.mtx", coordinate(n, n, entries)), b, "-o", x)
        found = read_array(x)[0]
        size = max(abs(c) for c in found)
        digits = -math.log10(max(abs(found[0]) / size, 1e-16))
        self.assertLessEqual(report["expected_digits"] or 0, digits + 1)

    def test_claim_from_one_ritz_value(self):
        n = 50
        rows = [[1.0 if i == j or 0 in (i, j) else 0.0 for j in range(n)] for i in range(n)]
        rows[0][0] = 49 + 5e-9
        x = str(self.folder / "x.mtx")
        matrix = self.file("A.mtx", dense(rows))
        report = self.report(matrix, "--method", "cg", "-o", x)
        self.assertTrue((report["expected_digits"] or 0) <= 1 or report["distance_from_ones"] < 1e-8, report)


class Scales(OutcomesTest):
    def test_columns_of_different_units(self):
        random.seed(5)
        for n, decades in ((3, 20), (3, 12), (10, 6), (10, 16)):
            rows = [[random.randint(-9, 9) + (20 if i == j else 0) for j in range(n)] for i in range(n)]
            rows = [[a * 10.0 ** (-decades * j / (n - 1)) for j, a in enumerate(row)] for row in rows]
            b = [float(random.randint(-9, 9)) for _ in range(n)]
            matrix = self.file("C.mtx", dense(rows))
            x = str(self.folder / "x.mtx")
            for method in ("auto", "lu", "gauss-jordan", "sparse-lu", "banded-lu", "mapped-echelon", "qr"):
                with self.subTest(n=n, decades=decades, method=method):
                    report = self.solve(matrix, b, "--method", method, "-o", x)
                    self.assertGreaterEqual(self.expect_honest(report, rows, b, x), 10)

    def test_rows_and_columns_over_the_range_of_double(self):
        random.seed(9)
        n = 12
        rows = [[20 if i == j else random.randint(-4, 4) if j == (i + 1) % n else 0 for j in range(n)]
                for i in range(n)]
        rows[5] = [2 * a - c for a, c in zip(rows[0], rows[1])]
        y = [random.randint(1, 9) for _ in range(n)]
        for lacking in (1, 0):
            if not lacking:
                rows[5][5] += 7
            scale = [random.choice((-400, 400)) for _ in range(n)]
            row_scale = [random.choice((-400, 400)) for _ in range(n)]
            scaled = [[math.ldexp(a, r + c) for a, c in zip(row, scale)] for row, r in zip(rows, row_scale)]
            b = [math.ldexp(c, r) for c, r in zip(product(rows, y), row_scale)]
            matrix = self.file("S.mtx", dense(scaled))
            for method in ("auto", "mapped-echelon", "gauss-jordan", "sparse-lu"):
                with self.subTest(lacking=lacking, method=method):
                    report = self.solve(matrix, b, "--method", method)
                    self.assertIn(report["rank"], (n - lacking, None if not lacking else n - lacking))
                    self.assertEqual(report["status"], "underdetermined" if lacking else "direct")
            for words in ([], ["--method", "mapped-echelon"]):
                rank = json.loads(self.run_tool("rank", matrix, *words, "--json").stdout)["rank"]
                self.assertEqual(rank, n - lacking)

    def test_norm_of_the_right_hand_side_overflows(self):
        n = 40
        matrix = self.file("T.mtx", cli_test.tridiagonal(n, 2.5, -1, -1))
        identity = self.file("I.mtx", coordinate(n, n, [(i, i, 1) for i in range(1, n + 1)]))
        for method in ("auto", "cg", "minres", "gmres", "jacobi", "amg", "lu", "cholesky", "banded-lu", "sparse-lu",
                       "mapped-echelon", "gauss-jordan"):
            with self.subTest(method=method):
                refused = self.solve(matrix, [1e308] * n, "--method", method, code=ANY)
                self.assertFalse(refused["solved"], refused)
                x = str(self.folder / "x.mtx")
                solved = self.solve(identity, [1e308] * n, "--method", method, "-o", x)
                self.assertTrue(all(abs(c - 1e308) <= 1e300 for c in read_array(x)[0]), solved)

    def test_tiny_numbers(self):
        x = str(self.folder / "x.mtx")
        report = self.solve(self.file("A.mtx", dense([[2, 1], [1, 3]])), [1e-308, 0], "-o", x)
        self.assertLess(report["relative_residual"], 1e-15)
        self.assertAlmostEqual(read_array(x)[0][0] / 6e-309, 1, 9)
        self.assertAlmostEqual(read_array(x)[0][1] / -2e-309, 1, 9)
        n, edges = grid(8)
        for factor in (1e-155, 1e155):
            entries = [(i, j, (v + (i == j)) * factor) for i, j, v in laplacian(n, edges)]
            matrix = self.file("G.mtx", coordinate(n, n, entries))
            for method in ("auto", "amg", "gauss-seidel", "jacobi", "lamg", "approximate-cholesky", "bddc", "cg"):
                with self.subTest(factor=factor, method=method):
                    solved = self.solve(matrix, [factor] * n, "--method", method, "-o", x)
                    self.assertTrue(all(abs(c - 1) < 1e-4 for c in read_array(x)[0]), solved)

    def test_one_answer_for_a_tiny_element(self):
        matrix = self.file("D.mtx", coordinate(5, 5, [(1, 1, 1e-300)] + [(i, i, 1) for i in range(2, 6)]))
        for command in ("rank", "rref"):
            for words in ([], ["--method", "mapped-echelon"]) if command == "rank" else ([],):
                found = json.loads(self.run_tool(command, matrix, *words, "--json").stdout)
                self.assertEqual(found["rank"], 5)
        inverse = str(self.folder / "inverse.mtx")
        self.run_tool("invert", matrix, "-o", inverse)
        self.assertAlmostEqual(read_array(inverse)[0][0] / 1e300, 1, 14)
        for method in ("auto", "banded-lu", "gauss-jordan", "lu", "sparse-lu", "mapped-echelon"):
            self.assertEqual(self.solve(matrix, [1e-300, 1, 1, 1, 1], "--method", method)["status"], "direct")

    def test_ldlt_scales(self):
        n = 8
        for p in (0, 40, 75):
            rows = [[math.ldexp(1 / (i + j + 1), p * ((-1) ** i + (-1) ** j)) for j in range(n)] for i in range(n)]
            report = self.report(self.file("H.mtx", dense(rows)), "--method", "ldlt")
            self.assertEqual(report["status"], "direct")


class Growth(OutcomesTest):
    def test_growth_of_elements(self):
        random.seed(1)
        for n in (20, 60, 80, 90):
            rows = [[1 if j == n - 1 or i == j else -1 if j < i else 0 for j in range(n)] for i in range(n)]
            b = [random.gauss(0, 1) for _ in range(n)]
            matrix = self.file("W.mtx", dense(rows))
            for method in ("auto", "lu", "lapack-lu", "qr", "crout", "gauss-jordan", "banded-lu", "sparse-lu"):
                with self.subTest(n=n, method=method):
                    report = self.solve(matrix, b, "--method", method)
                    self.assertEqual(report["status"], "direct")
                    self.assertLessEqual(report["backward_error"], 1e-14)


class Structure(OutcomesTest):
    def test_nearly_symmetric_matrix(self):
        n, edges = grid(12)
        entries = [(i, j, v + (i == j)) for i, j, v in laplacian(n, edges)]
        entries = [(i, j, v * (1 + 2.0 ** -52) if j == i + 1 else v) for i, j, v in entries]
        report = self.report(self.file("N.mtx", coordinate(n, n, entries)))
        self.assertTrue(report["solved"])
        self.assertTrue(any("symmetric" in text for text in report["warnings"] + [report["reason"]]), report)

    def test_resistances_over_many_decades(self):
        random.seed(2)
        m = 8
        n, edges = grid(m)
        weights = [(u, v, 10.0 ** random.choice((0, -6, -12))) for u, v in edges]
        entries = [(u + 1, v + 1, repr(w)) for u, v, w in weights] + [(v + 1, u + 1, repr(w)) for u, v, w in weights]
        matrix = self.file("R.mtx", coordinate(n, n, entries))
        result = json.loads(self.run_tool("graph", "resistance", matrix, "--edges", "--json").stdout)
        self.assertAlmostEqual(result["foster_sum"], n - 1, 9)
        for _, _, weight, resistance in result["edges_resistances"]:
            self.assertLessEqual(weight * resistance, 1 + 1e-9)


if __name__ == "__main__":
    unittest.main()
