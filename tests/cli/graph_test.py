#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs `echelon graph`.

Usage: graph_test.py PATH_OF_THE_TOOL [unittest arguments]
"""
import json
import math
import subprocess
import unittest

from cli_test import BAD_INPUT, NO_SOLUTION, NOT_CONVERGED, SOLVED, TOOL, USAGE, ToolTest, coordinate


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

    def test_components_without_ground(self):
        # A path of seven, an edge that is grounded, a triangle, and a zero row.
        entries = [(i, i + 1, -1) for i in range(1, 7)] + [(8, 9, -1), (10, 11, -1), (11, 12, -1), (10, 12, -1)]
        diagonal = [1, 2, 2, 2, 2, 2, 1, 1, 1.5, 2, 2, 2]
        entries += [(j, i, w) for i, j, w in entries] + [(i, i, d) for i, d in enumerate(diagonal, 1)]
        network = self.file("network.mtx", coordinate(13, 13, entries))
        expected = [{"rows": 7, "first_rows": [0, 1, 2, 3, 4]}, {"rows": 3, "first_rows": [9, 10, 11]},
                    {"rows": 1, "first_rows": [12]}]
        result = self.graph_json("components", network)
        self.assertEqual((result["components"], result["ungrounded_components"]), (4, 3))
        self.assertEqual(result["ungrounded"], expected)
        info = json.loads(self.run_tool("info", network, "--json").stdout)
        self.assertEqual((info["ungrounded_components"], info["ungrounded"]), (3, expected))
        for command in [["info"], ["graph", "components"]]:
            text = " ".join(self.run_tool(*command, network).stdout.split())
            self.assertIn("rows 0, 1, 2, 3, 4, ... (7 rows); rows 9, 10, 11; row 12", text)
        b = self.file("b.txt", "\n".join(["0"] * 9 + ["1", "-2", "3.5", "0"]) + "\n")
        text = self.run_tool("solve", network, "--rhs", b, code=NO_SOLUTION).stdout
        self.assertIn("the component of rows 9, 10, 11 has no ground, and b sums to 2.5 over it",
                      " ".join(text.split()))
        grounded = self.file("grounded.mtx", coordinate(2, 2, [(1, 1, 2), (2, 2, 1), (1, 2, -1), (2, 1, -1)]))
        self.assertEqual(json.loads(self.run_tool("info", grounded, "--json").stdout)["ungrounded"], [])
        self.assertNotIn("without ground", self.run_tool("info", grounded).stdout)
        unsymmetric = self.file("unsymmetric.mtx", coordinate(2, 2, [(1, 1, 1), (1, 2, -1)]))
        self.assertNotIn("ungrounded", json.loads(self.run_tool("info", unsymmetric, "--json").stdout))

    def test_vertices_without_a_diagonal_element(self):
        entries = [(1, 1, 2), (2, 2, 2), (1, 2, -2), (2, 1, -2)]
        result = self.graph_json("components", self.file("L.mtx", coordinate(4, 4, entries)))
        self.assertEqual((result["edges"], result["components"], result["isolated_vertices"]), (1, 3, 2))
        self.assertIn("1 component\n", self.run_tool("graph", "components", self.file("edge.txt", "0 1\n"),
                                                     "--from", "edge-list").stdout)

    def test_pairs_in_a_file(self):
        table = self.folder / "pairs.txt"
        self.run_tool("graph", "resistance", self.graph, "--pair", "0,2", "--pair", "4,3", "-o", str(table))
        rows = [[float(word) for word in line.split()] for line in table.read_text().splitlines()]
        self.assertEqual([row[:2] for row in rows], [[0, 2], [4, 3]])
        self.assertAlmostEqual(rows[0][2], 0.7, 9)
        self.assertAlmostEqual(rows[1][2], 1, 9)

    def test_failed_setup(self):
        entries = [(1, 1, 2), (2, 2, 2), (1, 2, -2), (2, 1, -2)]
        isolated = self.file("L.mtx", coordinate(3, 3, entries))
        sources = self.file("sources.txt", "0 1\n1 -1\n")
        potentials = self.folder / "x.mtx"
        method = ["--method", "jacobi"]
        result = self.graph_json("resistance", isolated, "--pair", "0,1", *method, code=NO_SOLUTION)
        self.assertEqual((result["status"], result["solves"]), ("breakdown", 0))
        self.assertEqual((result["pairs"][0]["connected"], result["pairs"][0]["resistance"]), (True, None))
        text = self.run_tool("graph", "resistance", isolated, "--edges", *method, code=NO_SOLUTION).stdout
        self.assertIn("row 2", text)
        result = self.graph_json("potential", isolated, "--sources", sources, *method, code=NO_SOLUTION)
        self.assertEqual(result["potentials"], [None, None, None])
        text = self.run_tool("graph", "potential", isolated, "--sources", sources, *method, "-o",
                             str(potentials), code=NO_SOLUTION).stdout
        self.assertIn("row 2", text)
        self.assertFalse(potentials.exists())

    def test_solve_that_does_not_converge(self):
        self.run_tool("generate", "path", "-p", "n=3000", "-o", str(self.folder / "path.mtx"))
        text = self.run_tool("graph", "resistance", str(self.folder / "path.mtx"), "--pair", "0,2999",
                             "--method", "gauss-seidel", code=NOT_CONVERGED).stdout
        self.assertIn("max_iterations", text)
        self.assertIn("relative residual", text)

    def test_device(self):
        result = self.graph_json("resistance", self.graph, "--pair", "0,2", "--device", "serial")
        self.assertAlmostEqual(result["pairs"][0]["resistance"], 0.7, 9)
        self.run_tool("graph", "resistance", self.graph, "--pair", "0,2", "--device", "abacus", code=USAGE)

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

    def test_weights_of_many_decades(self):
        # Blocks of 2 by 2 vertices with weights of 1, joined by weights of 1e-12.
        entries = []
        for i in range(36):
            x, y = i % 6, i // 6
            if x < 5:
                entries.append((i + 1, i + 2, 1 if x % 2 == 0 else 1e-12))
            if y < 5:
                entries.append((i + 1, i + 7, 1 if y % 2 == 0 else 1e-12))
        blocks = self.file("blocks.mtx", coordinate(36, 36, entries + [(j, i, w) for i, j, w in entries]))
        result = self.graph_json("resistance", blocks, "--edges")
        self.assertEqual((result["method"], result["solves"]), ("elimination", 0))
        self.assertAlmostEqual(result["foster_sum"], 35, 12)
        heavy = [r for _, _, w, r in result["edges_resistances"] if w == 1]
        for r in heavy:  # three quarters, as of a square
            self.assertAlmostEqual(r, 0.75, 10)
        pairs = self.graph_json("resistance", blocks, "--pair", "0,35", "--pair", "0,1", "--pair", "1,35")
        self.assertAlmostEqual(pairs["pairs"][1]["resistance"], 0.75, 8)
        method = ["--method", "approximate-cholesky"]
        text = self.run_tool("graph", "resistance", blocks, "--edges", *method, code=NOT_CONVERGED).stdout
        self.assertIn("inaccurate", text)

    def test_pairs_of_a_file(self):
        expected = self.graph_json("resistance", self.graph, "--pair", "0,2", "--pair", "4,3", "--pair",
                                   "0,4")
        for text in ["0 2\n4 3\n0 4\n", "# u v\n0,2\n\n4,3\n0,4", "u v\n0.0e+00\t2\n4 3\n0 4\n"]:
            result = self.graph_json("resistance", self.graph, "--pairs", self.file("pairs.txt", text))
            self.assertEqual(result["pairs"], expected["pairs"])
            self.assertEqual(result["solves"], 2)
        both = self.graph_json("resistance", self.graph, "--pairs", self.file("one.txt", "4 3\n"),
                               "--pair", "0,1")
        self.assertEqual([(p["first"], p["second"]) for p in both["pairs"]], [(0, 1), (4, 3)])
        piped = subprocess.run([TOOL, "graph", "resistance", self.graph, "--pairs", "-", "--json"],
                               input="0 2\n4 3\n0 4\n", capture_output=True, text=True, timeout=60)
        self.assertEqual(json.loads(piped.stdout)["pairs"], expected["pairs"])
        table = self.folder / "table.mtx"
        result = self.graph_json("resistance", self.graph, "--pairs", str(self.folder / "pairs.txt"), "-o",
                                 str(table))
        self.assertNotIn("pairs", result)
        numbers = table.read_text().split("3 3\n")[1].split()
        self.assertEqual([float(x) for x in numbers[:6]], [0, 4, 0, 2, 3, 4])
        self.assertAlmostEqual(float(numbers[6]), 0.7, 9)

    def test_bad_pairs_of_a_file(self):
        def error(text, code):
            return self.run_tool("graph", "resistance", self.graph, "--pairs", self.file("bad.txt", text),
                                 code=code).stderr
        for text, line in [("0 1\n\n# comment\n3 5\n", 4), ("1 -1\n", 1), ("0 1\n0.5 1\n", 2)]:
            message = error(text, USAGE)
            self.assertIn("bad.txt, line %d" % line, message)
            self.assertIn("numbered from 0", message)
        self.assertIn("3 columns, not two", error("0 1 2\n", USAGE))
        self.assertIn("bad.txt:2", error("0 1\n0 x\n", BAD_INPUT))
        self.assertIn("empty.txt", self.run_tool("graph", "resistance", self.graph, "--pairs",
                                                 self.file("empty.txt", ""), code=BAD_INPUT).stderr)
        self.assertIn("none.txt", self.run_tool("graph", "resistance", self.graph, "--pairs",
                                                str(self.folder / "none.txt"), code=BAD_INPUT).stderr)
        self.run_tool("graph", "resistance", self.graph, "--edges", "--pairs", self.file("p.txt", "0 1\n"),
                      code=USAGE)
        self.run_tool("graph", "resistance", "-", "--pairs", "-", code=USAGE)

    def test_potential(self):
        sources = self.file("sources.txt", "0 1\n2 -1\n")
        result = self.graph_json("potential", self.graph, "--sources", sources)
        x = result["potentials"]
        self.assertAlmostEqual(x[0] - x[1], 0.5, 9)
        self.assertAlmostEqual(x[1] - x[2], 0.2, 9)
        self.assertAlmostEqual(result["power"], 0.7, 9)
        piped = subprocess.run([TOOL, "graph", "potential", self.graph, "--sources", "-", "--json"],
                               input="0 1\n2 -1\n", capture_output=True, text=True, timeout=60)
        self.assertEqual(json.loads(piped.stdout)["potentials"], x)
        one_sided = self.file("one.txt", "0 1\n3 0\n")
        self.assertEqual(len(self.graph_json("potential", self.graph, "--sources", one_sided)["warnings"]), 1)
        strict = self.graph_json("potential", self.graph, "--sources", one_sided, "--strict", code=NO_SOLUTION)
        self.assertEqual(strict["status"], "inconsistent")
        text = self.run_tool("graph", "potential", self.graph, "--sources", one_sided, "--strict",
                             code=NO_SOLUTION).stdout
        self.assertIn("do not sum to zero", text)
        self.assertIn("the component of rows 0, 1, 2 has no ground, and b sums to 1 over it",
                      " ".join(text.split()))

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
        for pair in ["0;1", "0", "0,1,2", "0,x", "-1,2"]:
            self.run_tool("graph", "resistance", self.graph, "--pair", pair, code=USAGE)
        outside = self.run_tool("graph", "resistance", self.graph, "--pair", "1,5", code=USAGE).stderr
        self.assertIn("no vertex 5", outside)
        self.assertNotIn("--numbering", outside)
        edges = self.file("edges.txt", "10 20\n20 30\n")
        text = self.run_tool("graph", "resistance", edges, "--from", "edge-list", "--pair", "10,20", code=USAGE)
        self.assertIn("--numbering", text.stderr)
        self.run_tool("graph", "resistance", self.graph, "--pair", "0,1", "--error", "0.1", code=USAGE)
        self.run_tool("graph", "resistance", self.graph, "--edges", "--seed", "2", code=USAGE)
        self.run_tool("graph", "fiedler", self.graph, "--tolerance", "-1", code=USAGE)
        self.run_tool("graph", "fiedler", self.graph, "--seed", "-1", code=USAGE)
        directed = self.file("directed.mtx", coordinate(2, 2, [(1, 1, 1), (1, 2, -1)]))
        self.assertIn("symmetric", self.run_tool("graph", "components", directed, code=BAD_INPUT).stderr)
        self.run_tool("graph", "fiedler", self.graph, "-k", "9", code=USAGE)
        bad = self.file("bad.txt", "9 1\n0 -1\n")
        self.assertIn("bad.txt", self.run_tool("graph", "potential", self.graph, "--sources", bad,
                                               code=USAGE).stderr)
        self.run_tool("graph", "potential", "-", "--sources", "-", code=USAGE)
        self.run_tool("graph", "components", str(self.folder / "none.mtx"), code=BAD_INPUT)


if __name__ == "__main__":
    unittest.main()
