#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs `echelon graph`.

Usage: graph_test.py PATH_OF_THE_TOOL [unittest arguments]
"""
import json
import math
import unittest

from cli_test import BAD_INPUT, NO_SOLUTION, SOLVED, USAGE, ToolTest, coordinate


class Graph(ToolTest):
    def setUp(self):
        super().setUp()
        # Resistors of 1/2 and 1/5 in series, and two vertices apart from them, joined by one of 1.
        entries = [(1, 2, 2), (2, 3, 5), (4, 5, 1)]
        self.graph = self.file("graph.mtx", coordinate(5, 5, entries + [(j, i, w) for i, j, w in entries]))

    def graph_json(self, *arguments, code=SOLVED):
        return json.loads(self.run_tool("graph", *arguments, "--json", code=code).stdout)

    def test_components(self):
        result = self.graph_json("components", self.graph, "-o", str(self.folder / "parts.mtx"))
        self.assertEqual((result["vertices"], result["edges"], result["components"]), (5, 3, 2))
        self.assertEqual((result["sizes"], result["isolated_vertices"]), ([3, 2], 0))
        self.assertIn("2 components", self.run_tool("graph", "components", self.graph).stdout)

    def test_adjacency_and_laplacian_agree(self):
        laplacian = str(self.folder / "L.mtx")
        self.run_tool("convert", self.graph, laplacian, "--as", "laplacian")
        for path in [self.graph, laplacian]:
            result = self.graph_json("resistance", path, "--pair", "0,2", "--pair", "4,3", "--pair", "0,4")
            pairs = result["pairs"]
            self.assertEqual(result["solves"], 2)
            self.assertAlmostEqual(pairs[0]["resistance"], 0.7, 9)
            self.assertAlmostEqual(pairs[1]["resistance"], 1, 9)
            self.assertEqual((pairs[2]["connected"], pairs[2]["resistance"]), (False, None))

    def test_edges_meet_fosters_theorem(self):
        result = self.graph_json("resistance", self.graph, "--edges")
        self.assertAlmostEqual(result["foster_sum"], 3, 8)
        self.assertEqual(result["foster_rank"], 3)
        self.assertEqual(result["standard_error"], 0)
        self.assertEqual(len(result["edges_resistances"]), 3)
        estimate = self.graph_json("resistance", self.graph, "--edges", "--error", "0.2")
        self.assertEqual((estimate["standard_error"], estimate["solves"]), (0.2, 50))

    def test_potential(self):
        sources = self.file("sources.txt", "0 1\n2 -1\n")
        result = self.graph_json("potential", self.graph, "--sources", sources)
        x = result["potentials"]
        self.assertAlmostEqual(x[0] - x[1], 0.5, 9)
        self.assertAlmostEqual(x[1] - x[2], 0.2, 9)
        self.assertAlmostEqual(result["power"], 0.7, 9)
        one_sided = self.file("one.txt", "0 1\n3 0\n")
        self.assertEqual(len(self.graph_json("potential", self.graph, "--sources", one_sided)["warnings"]), 1)
        strict = self.graph_json("potential", self.graph, "--sources", one_sided, "--strict", code=NO_SOLUTION)
        self.assertEqual(strict["status"], "inconsistent")

    def test_fiedler(self):
        self.run_tool("generate", "path", "-p", "n=50", "-o", str(self.folder / "path.mtx"))
        vectors = str(self.folder / "vectors.mtx")
        result = self.graph_json("fiedler", str(self.folder / "path.mtx"), "-k", "2", "-o", vectors)
        self.assertEqual((result["status"], result["components"]), ("converged", 1))
        for k, value in enumerate(result["eigenvalues"], 1):
            self.assertAlmostEqual(value, 2 - 2 * math.cos(k * math.pi / 50), 9)
        self.assertIn("lambda_2", self.run_tool("graph", "fiedler", str(self.folder / "path.mtx")).stdout)

    def test_misuse(self):
        self.assertIn("fiedler", self.run_tool("graph", "--help").stdout)
        self.assertIn("did you mean 'fiedler'", self.run_tool("graph", "fidler", self.graph, code=USAGE).stderr)
        self.run_tool("graph", "resistance", self.graph, code=USAGE)
        self.run_tool("graph", "resistance", self.graph, "--pair", "0;1", code=USAGE)
        self.run_tool("graph", "fiedler", self.graph, "-k", "9", code=USAGE)
        bad = self.file("bad.txt", "9 1\n0 -1\n")
        self.run_tool("graph", "potential", self.graph, "--sources", bad, code=USAGE)
        self.run_tool("graph", "components", str(self.folder / "none.mtx"), code=BAD_INPUT)


if __name__ == "__main__":
    unittest.main()
