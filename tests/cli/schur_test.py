#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs `echelon schur`.

Usage: schur_test.py PATH_OF_THE_TOOL [unittest arguments]
"""
import json
import unittest

from cli_test import BAD_INPUT, NO_SOLUTION, SOLVED, USAGE, ToolTest, array, coordinate, read_array


class Schur(ToolTest):
    def setUp(self):
        super().setUp()
        # A path of five unknowns: 2 on the diagonal, -1 beside it.
        entries = [(i, i, 2) for i in range(1, 6)]
        entries += [(i, i + 1, -1) for i in range(1, 5)] + [(i + 1, i, -1) for i in range(1, 5)]
        self.entries = entries
        self.matrix = self.file("A.mtx", coordinate(5, 5, entries))
        self.middle = self.file("middle.txt", "2\n")
        self.output = str(self.folder / "S.mtx")

    def schur_json(self, *arguments, code=SOLVED):
        done = self.run_tool("schur", *arguments, "--json", code=code)
        self.assertEqual(done.stdout.count("\n"), 1)
        return json.loads(done.stdout)

    def test_path_of_five(self):
        # The ends of two unknowns each leave 2/3 of the coupling: 2 - 2 * 2/3.
        for factorization in ["auto", "cholesky", "ldlt", "lu"]:
            for given in [self.matrix, self.dense()]:
                result = self.schur_json(given, "--interface", self.middle, "-o", self.output,
                                         "--factorization", factorization)
                self.assertAlmostEqual(read_array(self.output)[0][0], 2 / 3, 14)
                self.assertEqual((result["status"], result["interface"], result["interior"]), ("ready", 1, 4))
                self.assertEqual(result["statistics"]["factorization"],
                                 "cholesky" if factorization == "auto" else factorization)
        text = self.run_tool("schur", self.matrix, "--interface", self.middle).stdout
        self.assertTrue(text.startswith("Schur complement: 1 x 1, by cholesky\n"), text)

    def dense(self):
        values = {(i, j): v for i, j, v in self.entries}
        return self.file("D.mtx", array([[values.get((i, j), 0) for i in range(1, 6)] for j in range(1, 6)]))

    def test_order_is_that_of_the_interface(self):
        order = self.file("order.txt", "4\n0\n2\n")
        self.schur_json(self.matrix, "--interface", order, "-o", self.output)
        wanted = [[1.5, 0, -0.5], [0, 1.5, -0.5], [-0.5, -0.5, 1]]
        for column, expected in zip(read_array(self.output), wanted):
            for value, number in zip(column, expected):
                self.assertAlmostEqual(value, number, 14)

    def test_reduced_right_hand_sides(self):
        rhs, reduced = self.file("b.txt", "1\n2\n3\n4\n5\n"), str(self.folder / "g.mtx")
        self.schur_json(self.matrix, "--interface", self.middle, "--rhs", rhs, "--reduced", reduced)
        # A_II^-1 b_I ends with 5/3 and begins with 13/3 beside the interface.
        self.assertAlmostEqual(read_array(reduced)[0][0], 3 + 5 / 3 + 13 / 3, 13)

    def test_inertia(self):
        indefinite = [(i, j, v if i != j else (-2 if i == 1 else 2)) for i, j, v in self.entries]
        matrix = self.file("I.mtx", coordinate(5, 5, indefinite))
        result = self.schur_json(matrix, "--interface", self.middle)
        self.assertEqual(result["inertia"], {"positive": 3, "negative": 1, "zero": 0})
        self.assertIsNone(self.schur_json(matrix, "--interface", self.middle, "--factorization", "lu")["inertia"])

    def test_singular_interior(self):
        entries = [e for e in self.entries if 1 not in e[:2]] + [(1, 3, 1), (3, 1, 1)]
        matrix = self.file("Z.mtx", coordinate(5, 5, entries))
        result = self.schur_json(matrix, "--interface", self.middle, "-o", self.output, code=NO_SOLUTION)
        self.assertEqual((result["status"], result["row"], result["output"]), ("singular", 0, None))
        text = self.run_tool("schur", matrix, "--interface", self.middle, code=NO_SOLUTION).stdout
        self.assertIn("No Schur complement: singular", text)

    def test_empty_interface(self):
        empty = self.file("none.txt", "# nothing is kept\n")
        self.assertEqual(self.schur_json(self.matrix, "--interface", empty)["interior"], 5)

    def test_misuse(self):
        def error(*arguments, code=USAGE):
            return self.run_tool("schur", self.matrix, *arguments, code=code).stderr

        self.assertIn("--interface", error())
        self.assertIn("rows 0 to 4", error("--interface", self.file("far.txt", "1\n5\n"), code=BAD_INPUT))
        self.assertIn("twice", error("--interface", self.file("twice.txt", "1\n3\n1\n"), code=BAD_INPUT))
        self.assertIn("2 columns", error("--interface", self.file("two.txt", "1 2\n3 4\n")))
        self.assertIn("1.5", error("--interface", self.file("half.txt", "1.5\n")))
        self.assertIn("-1", error("--interface", self.file("minus.txt", "-1\n")))
        self.assertIn("did you mean 'cholesky'", error("--interface", self.middle, "--factorization", "cholesk"))
        self.assertIn("together", error("--interface", self.middle, "--reduced", self.output))
        short = self.file("short.txt", "1\n2\n")
        self.assertIn("2 rows",
                      error("--interface", self.middle, "--rhs", short, "--reduced", self.output, code=BAD_INPUT))
        error("--interface", str(self.folder / "none"), code=BAD_INPUT)
        error("--interface", self.middle, "-o", self.middle)
        error("--interface", self.middle, "--device", "gpu")


if __name__ == "__main__":
    unittest.main()
