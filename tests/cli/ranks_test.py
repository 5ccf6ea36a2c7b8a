#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs `echelon solve --ranks`, which needs PETSc and mpirun.

Usage: ranks_test.py PATH_OF_THE_TOOL [unittest arguments]
"""
import json
import os
import random
import shutil
import unittest

import cli_test
from cli_test import (BAD_INPUT, NO_SOLUTION, NOT_CONVERGED, RESOURCES, SOLVED, USAGE, ToolTest, array, coordinate,
                      read_array)


def grid(m, diagonal=4, right=-1, left=-1, decay=0):
    """The five-point operator of an m by m grid."""
    entries = []
    for k in range(m * m):
        entries.append((k + 1, k + 1, diagonal + decay))
        if k % m != m - 1:
            entries += [(k + 1, k + 2, right), (k + 2, k + 1, left)]
        if k + m < m * m:
            entries += [(k + 1, k + m + 1, -1), (k + m + 1, k + 1, -1)]
    return entries


class RanksTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.m = 30
        self.n = self.m * self.m
        self.matrix = self.file("A.mtx", coordinate(self.n, self.n, grid(self.m)))

    def launcher(self, lines):
        """A program in place of mpirun, in which process 1 runs `lines` of shell before the solver."""
        wrapper = self.file("wrapper", f'#!/bin/sh\nif [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then\n{lines}\nfi\nexec "$@"\n')
        launcher = self.file("launcher", f'#!/bin/sh\nn=$2\nshift 2\nexec mpirun -n $n {wrapper} "$@"\n')
        os.chmod(wrapper, 0o700)
        os.chmod(launcher, 0o700)
        return {**os.environ, "ECHELON_MPIRUN": launcher}


class Solve(RanksTest):
    def check(self, report, ranks, tolerance=1e-8):
        self.assertEqual(report["status"], "converged")
        self.assertEqual(report["statistics"]["ranks"], ranks)
        self.assertLessEqual(report["relative_residual"], tolerance)
        self.assertLess(report["backward_error"], tolerance)
        self.assertLess(report["distance_from_ones"], 1e-5)

    def test_every_preconditioner(self):
        for ranks in range(1, 5):
            for preconditioner, method in [("auto", "auto"), ("bddc", "cg"), ("asm", "gmres"),
                                           ("block-jacobi", "cg"), ("bddc", "gmres")]:
                with self.subTest(ranks=ranks, preconditioner=preconditioner):
                    report = self.report(self.matrix, "--ranks", str(ranks), "--method", method, "-p",
                                         f"preconditioner={preconditioner}")
                    self.check(report, ranks)
                    if preconditioner in ("auto", "bddc"):
                        self.assertLessEqual(report["iterations"], 12)

    def test_traffic(self):
        # Two processes without overlap send each other the interface's values: eight bytes for each node
        # with a neighbour in the other part, once in each product with A.
        report = self.report(self.matrix, "--ranks", "2", "--method", "cg", "-p", "preconditioner=block-jacobi")
        statistics = report["statistics"]
        self.assertLess(abs(statistics["messages_per_iteration"] - 2), 0.5)
        self.assertGreaterEqual(statistics["message_bytes_per_iteration"], 8 * self.m)
        self.assertLessEqual(statistics["message_bytes_per_iteration"], 8 * 6 * self.m)
        self.assertEqual(statistics["smallest_part_rows"] + statistics["largest_part_rows"], self.n)
        alone = self.report(self.matrix, "--ranks", "1", "-p", "preconditioner=asm")
        self.assertEqual(alone["statistics"].get("messages_per_iteration", 0), 0)

    def test_given_order_does_not_matter(self):
        order = list(range(1, self.n + 1))
        random.Random(1).shuffle(order)
        shuffled = [(order[i - 1], order[j - 1], v) for i, j, v in grid(self.m)]
        report = self.report(self.file("P.mtx", coordinate(self.n, self.n, shuffled)), "--ranks", "3")
        self.check(report, 3)
        self.assertLessEqual(report["iterations"], 12)

    def test_unsymmetric(self):
        matrix = self.file("C.mtx", coordinate(self.n, self.n, grid(self.m, right=-0.4, left=-1.6)))
        report = self.report(matrix, "--ranks", "3")
        self.check(report, 3)
        self.assertEqual(report["description"], "gmres (preconditioner=asm)")
        for words in [("--method", "cg"), ("-p", "preconditioner=bddc")]:
            self.assertIn("not symmetric", self.error("solve", matrix, "--ranks", "2", *words, code=USAGE)
                          .replace("and this one is not:", "not symmetric"))

    def test_indefinite(self):
        matrix = self.file("I.mtx", coordinate(self.n, self.n, grid(self.m, diagonal=3)))
        report = self.report(matrix, "--ranks", "2", "-p", "restart=400")
        self.check(report, 2)
        self.assertEqual([a["status"] for a in report["attempts"]], ["not_spd"])

    def test_constants_in_null_space(self):
        entries = grid(self.m)
        degree = [0] * self.n
        for i, j, _ in entries:
            degree[i - 1] += i != j
        entries = [(i, j, degree[i - 1] if i == j else v) for i, j, v in entries]
        report = self.report(self.file("L.mtx", coordinate(self.n, self.n, entries)), "--ranks", "3")
        self.assertEqual(report["status"], "converged")
        self.assertLessEqual(report["relative_residual"], 1e-8)

    def test_several_right_hand_sides(self):
        x = [[1 + (i * (j + 3)) % 7 for i in range(self.n)] for j in range(3)]
        b = [[0.0] * self.n for _ in x]
        for column, right in zip(x, b):
            for i, j, v in grid(self.m):
                right[i - 1] += v * column[j - 1]
        output = str(self.folder / "x.mtx")
        report = self.report(self.matrix, "--ranks", "3", "--rhs", self.file("b.mtx", array(b)), "-o", output)
        self.assertEqual(len(report["columns"]), 3)
        for column, solution in zip(x, read_array(output)):
            self.assertLess(max(abs(a - c) for a, c in zip(column, solution)), 1e-5)

    def test_system_of_equations(self):
        matrix = str(self.folder / "E.mtx")
        self.run_tool("generate", "elasticity-2d", "--rows", "2000", "-o", matrix)
        report = self.report(matrix, "--ranks", "3", "-p", "block_size=2", "-p", "preconditioner=bddc")
        self.check(report, 3)
        self.assertLessEqual(report["iterations"], 20)

    def test_options_of_the_factorization(self):
        report = self.report(self.matrix, "--ranks", "2", "-p", "factor=sparse-cholesky", "-p",
                             "factor.ordering=amd", "--device", "serial", "--rtol", "1e-11")
        self.check(report, 2, 1e-11)

    def test_scaling(self):
        for scaling in ["stiffness", "deluxe", "cardinality"]:
            report = self.report(self.matrix, "--ranks", "4", "-p", "preconditioner=bddc", "-p", f"scaling={scaling}")
            self.check(report, 4)
            self.assertLessEqual(report["iterations"], 12)

    def test_limit_of_iterations(self):
        report = self.report(self.matrix, "--ranks", "2", "--max-iterations", "1", code=NOT_CONVERGED)
        self.assertEqual((report["status"], report["iterations"], report["attempts"]), ("max_iterations", 1, []))
        self.assertGreater(report["relative_residual"], 1e-8)

    def test_text(self):
        text = self.run_tool("solve", self.matrix, "--ranks", "2").stdout
        self.assertIn("cg (preconditioner=bddc): the matrix is symmetric with a positive diagonal", text)
        self.assertIn("ranks 2", text)


class Failures(RanksTest):
    def test_wrong_names_suggest_nearest(self):
        for words, wanted in [(["-p", "preconditoner=asm"], "'preconditioner'"),
                              (["-p", "preconditioner=bdcc"], "'bddc'"),
                              (["-p", "factor=sparse-cholsky"], "'sparse-cholesky'"),
                              (["-p", "factor=sparse-lu", "-p", "factor.orderin=amd"], "'ordering'"),
                              (["-p", "scaling=stifness"], "'stiffness'"),
                              (["--method", "gmers"], "'gmres'")]:
            with self.subTest(words=words):
                self.assertIn(f"did you mean {wanted}?",
                              self.error("solve", self.matrix, "--ranks", "2", *words, code=USAGE))
        environment = {**os.environ, "PETSC_OPTIONS": "-pc_bddc_neumann_mat_echelon_orderng amd"}
        done = self.run_tool("solve", self.matrix, "--ranks", "2", code=USAGE, env=environment)
        self.assertIn("did you mean 'ordering'?", done.stderr)

    def test_invalid_requests(self):
        small = self.file("S.mtx", coordinate(3, 3, [(1, 1, 1), (2, 2, 1), (3, 3, 1)]))
        wide = self.file("W.mtx", coordinate(2, 3, [(1, 1, 1), (2, 3, 1)]))
        for matrix, words, code in [(small, ["--ranks", "4"], USAGE), (small, ["--ranks", "0"], USAGE),
                                    (small, ["--ranks", "two"], USAGE), (wide, ["--ranks", "2"], BAD_INPUT),
                                    (self.matrix, ["--ranks", "2", "--precision", "float"], USAGE),
                                    (self.matrix, ["--ranks", "2", "-p", "block_size=7"], USAGE),
                                    (self.matrix, ["--ranks", "2", "-p", "overlap=-1"], USAGE),
                                    (self.matrix, ["--ranks", "2", "-p", "factor=cg"], USAGE)]:
            with self.subTest(words=words):
                self.error("solve", matrix, *words, code=code)

    def test_singular_subdomain(self):
        entries = [(i, j, 0 if 5 in (i, j) else v) for i, j, v in grid(self.m)]
        report = self.report(self.file("Z.mtx", coordinate(self.n, self.n, entries)), "--ranks", "2",
                             code=NO_SOLUTION)
        self.assertEqual(report["status"], "breakdown")
        self.assertRegex(report["message"], "process [01] of 2: .*all processes have ended")
        self.assertIsNone(report["relative_residual"])

    def test_no_launcher(self):
        done = self.run_tool("solve", self.matrix, "--ranks", "2", code=RESOURCES,
                             env={**os.environ, "ECHELON_MPIRUN": "no-such-program"})
        self.assertIn("no-such-program is not found: install MPI", done.stderr)

    def test_root(self):
        launcher = self.file("launcher", "#!/bin/sh\necho mpirun has detected an attempt to run as root. >&2\nexit 1\n")
        os.chmod(launcher, 0o700)
        error = self.run_tool("solve", self.matrix, "--ranks", "2", code=RESOURCES,
                              env={**os.environ, "ECHELON_MPIRUN": launcher}).stderr
        self.assertIn("OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", error)
        if os.geteuid() == 0 and shutil.which("ompi_info"):
            allowed = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
            env = {name: value for name, value in os.environ.items() if name not in allowed}
            self.assertEqual(self.run_tool("solve", self.matrix, "--ranks", "2", code=RESOURCES, env=env).stderr, error)

    def test_no_petsc(self):
        tool = str(self.folder / "echelon")
        shutil.copy(cli_test.TOOL, tool)
        original, cli_test.TOOL = cli_test.TOOL, tool
        try:
            message = self.error("solve", self.matrix, "--ranks", "2", code=RESOURCES)
        finally:
            cli_test.TOOL = original
        self.assertIn("install", message.lower())
        self.assertIn("-DECHELON_PETSC=ON", message)

    def test_process_without_memory(self):
        # From an address space with which MPI starts, to what suffices. With 0.6 GB Open MPI finds no room for the memory
        # that its processes share, and its first broadcast never ends.
        m = 300
        matrix = self.file("B.mtx", coordinate(m * m, m * m, grid(m)))
        outcomes = set()
        for kilobytes in range(700000, 1000001, 100000):
            environment = self.launcher(f"ulimit -v {kilobytes}")
            done = cli_test.subprocess.run([cli_test.TOOL, "solve", matrix, "--ranks", "2", "--json", "--quiet"],
                                           capture_output=True, text=True, timeout=120, env=environment)
            outcomes.add(done.returncode)
            if done.returncode == SOLVED:
                continue
            self.assertEqual(done.returncode, RESOURCES, done.stdout + done.stderr)
            report = json.loads(done.stdout)
            if "status" in report:
                self.assertEqual(report["status"], "out_of_memory")
                self.assertRegex(report["message"], "process 1 of 2: [Oo]ut of memory.*all processes have ended")
        self.assertIn(RESOURCES, outcomes)

    def test_process_that_ends(self):
        for lines in ["kill -9 $$", "exit 3"]:
            done = self.run_tool("solve", self.matrix, "--ranks", "3", code=RESOURCES, env=self.launcher(lines))
            self.assertRegex(done.stderr, "processes ended with status|was ended by signal 9")

    def test_killed_process_is_named(self):
        # Process 1 is killed during an iteration of many seconds.
        m = 300
        matrix = self.file("B.mtx", coordinate(m * m, m * m, grid(m)))
        environment = self.launcher("(sleep 2; kill -9 $$) &")
        done = self.run_tool("solve", matrix, "--ranks", "3", "--method", "gmres", "-p",
                             "preconditioner=block-jacobi", "-p", "restart=3", "--rtol", "1e-15", "--max-iterations",
                             "1000000", code=RESOURCES, env=environment)
        self.assertIn("process 1 of 3 was ended by signal 9", done.stderr)


if __name__ == "__main__":
    unittest.main()
