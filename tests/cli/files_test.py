#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs `echelon convert`, and the other commands on files of every format.

Usage: files_test.py PATH_OF_THE_TOOL [unittest arguments]
"""
import gzip
import json
import pathlib
import re
import struct
import unittest
import zipfile

from cli_test import BAD_INPUT, RESOURCES, SOLVED, USAGE, ToolTest, array, coordinate, read_array, tridiagonal

try:
    import numpy
except ImportError:
    numpy = None
try:
    import scipy.sparse
except ImportError:
    scipy = None

CORPUS = pathlib.Path(__file__).resolve().parents[1] / "fuzz" / "corpus"


class Files(ToolTest):
    def setUp(self):
        super().setUp()
        # A path 1 - 2 - 3 with weights 2 and 5.
        self.path = coordinate(3, 3, [(1, 2, 2), (2, 1, 2), (2, 3, 5), (3, 2, 5)])

    def out(self, name):
        return str(self.folder / name)

    def convert(self, *arguments, code=SOLVED):
        done = self.run_tool("convert", *arguments, "--json", "--quiet", code=code)
        self.assertEqual(done.stderr, "" if code == SOLVED else done.stderr)
        return json.loads(done.stdout)

    def entries(self, path):
        """Returns the elements of a Matrix Market file by (row, column), numbered from 1."""
        lines = [line for line in pathlib.Path(path).read_text().splitlines() if not line.startswith("%")]
        words = [line.split() for line in lines[1:]]
        return {(int(i), int(j)): float(value) for i, j, value in words}

    def test_formats_round_trip(self):
        start = self.file("a.mtx", self.path)
        for name in ["b.graph", "b.graph.gz", "b.petsc", "b.petsc.gz", "b.edges", "b.mtx.gz"]:
            with self.subTest(name):
                first = self.convert(start, self.out(name))
                self.assertEqual((first["rows"], first["columns"], first["nonzeros"]), (3, 3, 4))
                self.convert(self.out(name), self.out("c.mtx"))
                self.assertEqual(self.entries(self.out("c.mtx")), self.entries(start))
        self.convert(start, self.out("b.npy"))
        result = self.convert(self.out("b.npy"), self.out("c.mtx"), "--sparse")
        self.assertTrue(result["sparse"])
        self.assertEqual(self.entries(self.out("c.mtx")), self.entries(start))

    def test_laplacian_round_trip(self):
        start = self.file("a.mtx", self.path)
        result = self.convert(start, self.out("L.mtx"), "--as", "laplacian")
        self.assertEqual(result["as"], "laplacian")
        self.assertEqual(self.entries(self.out("L.mtx")), {(1, 1): 2, (1, 2): -2, (2, 1): -2, (2, 2): 7, (2, 3): -5,
                                                           (3, 2): -5, (3, 3): 5})
        self.convert(self.out("L.mtx"), self.out("A.mtx"), "--as", "adjacency")
        self.assertEqual(self.entries(self.out("A.mtx")), self.entries(start))
        one_sided = self.file("d.edges", "1 2 4\n")
        self.error("convert", one_sided, self.out("L.mtx"), "--as", "laplacian", "--directed", code=BAD_INPUT)
        self.convert(one_sided, self.out("L.mtx"), "--as", "laplacian", "--directed", "--symmetrise")
        self.assertEqual(self.entries(self.out("L.mtx")), {(1, 1): 2, (1, 2): -2, (2, 1): -2, (2, 2): 2})
        negative = self.file("n.edges", "1 2 -4\n")
        self.error("convert", negative, self.out("L.mtx"), "--as", "laplacian", code=BAD_INPUT)
        self.convert(negative, self.out("L.mtx"), "--as", "laplacian", "--negative-weights")

    def test_edge_lists(self):
        lists = self.file("a.txt", "# remark\n100\t7\n7\t9000000000\n")
        self.error("convert", lists, self.out("a.mtx"), code=BAD_INPUT)
        result = self.convert(lists, self.out("a.mtx"), "--from", "edge-list", "--labels", self.out("labels"))
        self.assertEqual((result["rows"], result["nonzeros"], result["input"]["stored_entries"]), (3, 4, 2))
        self.assertEqual(pathlib.Path(self.out("labels")).read_text(), "7\n100\n9000000000\n")
        self.convert(lists, self.out("a.edges"), "--from", "edge-list")
        self.assertEqual(pathlib.Path(self.out("a.edges")).read_text().splitlines()[2:], ["7\t100", "7\t9000000000"])
        rows = self.file("b.edges", "0 3\n")
        self.assertEqual(self.convert(rows, self.out("b.mtx"), "--numbering", "zero")["rows"], 4)
        self.assertEqual(self.convert(rows, self.out("b.mtx"), "--directed")["nonzeros"], 1)

    def test_readme_conversion_works(self):
        readme = (pathlib.Path(__file__).resolve().parents[2] / "README.md").read_text()
        line = re.search(r"bin/echelon (convert .*?) +#", readme).group(1).split()
        self.file(line[1], "1 2\n2 3\n")
        self.run_tool(*line, cwd=self.folder)
        self.assertEqual(len(self.entries(self.folder / line[2])), 7)

    def test_plain_text_without_a_format(self):
        graph = self.file("graph.txt", "1 2\n2 3\n3 1\n3 4\n")
        result = self.convert(graph, self.out("L.mtx"), "--as", "laplacian")
        self.assertEqual((result["input"]["file_format"], result["rows"], result["nonzeros"]), ("edge-list", 4, 12))
        self.assertIn("with --from (ReadFileOptions::format): edge-list or text", self.error("info", graph, code=BAD_INPUT))
        snap = self.file("snap.txt", "# FromNodeId\tToNodeId\n1\t2\n")
        self.assertEqual(self.convert(snap, self.out("A.mtx"))["input"]["file_format"], "edge-list")
        dense = self.file("A.txt", "4.0 1.0\n1.0 3.0\n")
        rhs = self.file("b.txt", "5\n4\n")
        self.assertTrue(self.report(dense, "--rhs", rhs, "-o", self.out("x.mtx"))["solved"])
        for value in read_array(self.out("x.mtx"))[0]:
            self.assertAlmostEqual(value, 1)
        self.convert(dense, self.out("again"), "--to", "text")
        self.assertEqual(pathlib.Path(self.out("again")).read_text(), "4 1\n1 3\n")

    def test_numpy_archives(self):
        report = self.report(str(CORPUS / "npz" / "stored.npz"), "-o", self.out("x.mtx"))
        self.assertEqual((report["matrix"]["file_format"], report["right_hand_side"]["source"]), ("npz", "file"))
        x = read_array(self.out("x.mtx"))[0]
        self.assertAlmostEqual(4 * x[0] - x[1], 1)
        self.assertAlmostEqual(2.5 * x[0] + 3 * x[1], 2)
        matrix = self.file("I.mtx", coordinate(2, 2, [(1, 1, 1), (2, 2, 1)]))
        report = self.report(matrix, "--rhs", str(CORPUS / "npz" / "stored.npz"), "-o", self.out("x.mtx"))
        self.assertEqual(read_array(self.out("x.mtx"))[0], [1, 2])

    def solution(self, name):
        """Solves a system with an exact solution, writes x to a file of this name, and returns its bytes."""
        matrix = self.file("A.mtx", coordinate(2, 2, [(1, 1, 2), (1, 2, 1), (2, 2, 4)]))
        rhs = self.file("b.txt", "2.25\n-1\n")
        self.report(matrix, "--rhs", rhs, "-o", self.out(name))
        return pathlib.Path(self.out(name)).read_bytes()

    def test_solution_has_the_format_of_its_name(self):
        for name in ["x.txt", "x.csv", "x.tsv", "x.dat"]:
            self.assertEqual(self.solution(name), b"1.25\n-0.25\n", name)
        self.assertEqual(gzip.decompress(self.solution("x.csv.gz")), b"1.25\n-0.25\n")
        for name in ["x.mtx", "x"]:
            self.assertTrue(self.solution(name).startswith(b"%%MatrixMarket matrix array"), name)
        self.solution("x.npz")
        with zipfile.ZipFile(self.out("x.npz")) as archive:
            self.assertIsNone(archive.testzip())
            self.assertEqual(archive.namelist(), ["arr_0.npy"])
            self.assertEqual(archive.read("arr_0.npy"), self.solution("x.npy"))
        if numpy:
            self.assertEqual(numpy.load(self.out("x.npz"))["arr_0"].tolist(), [1.25, -0.25])

    def test_other_formats_are_refused_by_name(self):
        matrix = self.spd()
        for name in ["x.mat", "x.foo", "x.json", "x.JSON.gz", "x.graph", "x.edges", "x.rua"]:
            for command in [["solve", matrix, "-o"], ["invert", matrix, "-o"]]:
                with self.subTest(f"{command[0]} {name}"):
                    self.error(*command, self.out(name), code=USAGE)
        for name in ["x.mat", "x.foo"]:
            for command in [["generate", "poisson-2d", "-o"], ["convert", matrix], ["solve", matrix, "-o"],
                            ["convert", matrix, self.out("x.mtx"), "--rhs"], ["rref", matrix, "--null-space"]]:
                error = self.error(*command, self.out(name), code=USAGE)
                self.assertRegex(error, r"does not write; it writes \.mtx, .*\.csv", command)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["spd.mtx"])

    def test_generated_matrix_has_the_format_of_its_name(self):
        def generate(name):
            self.run_tool("generate", "poisson-2d", "-p", "nx=3", "-p", "ny=2", "-o", self.out(name), "--quiet")
            return self.out(name)
        expected = self.entries(generate("a.mtx"))
        lines = pathlib.Path(generate("a.csv")).read_text().splitlines()
        rows = [[float(word) for word in line.split(",")] for line in lines]
        self.assertEqual(len(rows), 6)
        self.assertEqual({(i + 1, j + 1): v for i, row in enumerate(rows) for j, v in enumerate(row) if v}, expected)
        self.convert(generate("a.npz"), self.out("b.mtx"))
        self.assertEqual(self.entries(self.out("b.mtx")), expected)
        with zipfile.ZipFile(self.out("a.npz")) as archive:
            self.assertIsNone(archive.testzip())
            self.assertEqual(sorted(archive.namelist()),
                             ["data.npy", "format.npy", "indices.npy", "indptr.npy", "shape.npy"])
        if scipy:
            matrix = scipy.sparse.load_npz(self.out("a.npz"))
            self.assertEqual(matrix.shape, (6, 6))
            self.assertEqual(matrix.nnz, len(expected))
        self.convert(self.out("a.csv"), self.out("c.npz"))
        self.convert(self.out("c.npz"), self.out("c.mtx"), "--sparse")
        self.assertEqual(self.entries(self.out("c.mtx")), expected)

    def test_isolated_vertices_print_note(self):
        start = self.file("a.mtx", coordinate(4, 4, [(1, 2, 1), (2, 1, 1)]))
        self.assertEqual(self.convert(start, self.out("a.edges"))["lost_vertices"], 2)
        self.assertIn("2 vertices have no edge", self.run_tool("convert", start, self.out("a.edges")).stderr)

    def test_unrepresentable_matrix_is_refused(self):
        unsymmetric = self.file("u.mtx", coordinate(2, 2, [(1, 2, 1)]))
        diagonal = self.file("d.mtx", coordinate(2, 2, [(1, 1, 1)]))
        wide = self.file("w.mtx", coordinate(2, 3, []))
        large = self.file("l.mtx", coordinate(100000, 100000, [(1, 1, 1)]))
        fraction = self.file("f.mtx", coordinate(2, 2, [(1, 2, 0.5), (2, 1, 0.5)]))
        for matrix, name, words in [(unsymmetric, "x.graph", "undirected"), (unsymmetric, "x.edges", "directed"),
                                    (diagonal, "x.graph", "no loops"), (wide, "x.graph", "not square"),
                                    (wide, "x.edges", "not square"), (large, "x.npy", "limit"),
                                    (fraction, "x.graph", "whole numbers")]:
            with self.subTest(f"{matrix} {name}"):
                error = self.error("convert", matrix, self.out(name), code=BAD_INPUT)
                self.assertIn(words, error)
                self.assertIn(matrix, error)
                self.assertFalse(pathlib.Path(self.out(name)).exists())

    def test_invalid_arguments_are_refused(self):
        start = self.file("a.mtx", self.path)
        for arguments in [[start], [start, self.out("b.xyz")], [start, self.out("b.rua")],
                          [start, self.out("b"), "--to", "harwell-boeing"], [start, self.out("b"), "--to", "mtx"],
                          [start, self.out("b.mtx"), "--from", "matrixmarket"], [start, self.out("b.mtx"), "--as", "graph"],
                          [start, self.out("b.mtx"), "--numbering", "two"], [start, self.out("b.mtx"), "--sparse", "--dense"],
                          [start, self.out("b.petsc"), "--index-bits", "16"], [start, self.out("b.mtx"), "--precision", "half"],
                          [start, self.out("b.mtx"), "--dense-limit", "much"], [start, self.out("b.mtx"), "--labels", self.out("l")],
                          [start, self.out("b.mtx"), "--rhs", self.out("r.mtx")]]:
            with self.subTest(arguments):
                self.error("convert", *arguments, code=USAGE)
        self.error("convert", start, self.out("none/b.mtx"), code=RESOURCES)
        self.error("convert", self.out("missing.graph"), self.out("b.mtx"), code=BAD_INPUT)
        self.assertIn("did you mean 'laplacian'", self.error("info", start, "--as", "laplacien", code=USAGE))

    def test_every_format_in_solve_and_info(self):
        matrix = self.file("a.mtx", tridiagonal(50, 4, -1, -1))
        rhs = self.file("b.mtx", array([[float(i) for i in range(50)]]))
        for ending in ["npy", "petsc"]:
            self.convert(matrix, self.out("A." + ending))
            self.convert(rhs, self.out("b." + ending))
            report = self.report(self.out("A." + ending), "--rhs", self.out("b." + ending), "-o", self.out("x." + ending))
            self.assertTrue(report["solved"])
            self.assertEqual(report["matrix"]["file_format"], ending)
            self.convert(self.out("x." + ending), self.out("x.mtx"))
            x = read_array(self.out("x.mtx"))[0]
            for i in range(50):
                product = 4 * x[i] - (x[i - 1] if i > 0 else 0) - (x[i + 1] if i < 49 else 0)
                self.assertAlmostEqual(product, i, places=5)
        graph = str(CORPUS / "metis" / "weights.graph")
        info = json.loads(self.run_tool("info", graph, "--as", "laplacian", "--json").stdout)
        self.assertEqual((info["file_format"], info["rows"], info["nonzeros"]), ("metis", 3, 7))
        self.assertEqual(info["definiteness"], "positive_semidefinite")
        self.error("solve", matrix, "-o", self.out("x.graph"), code=USAGE)

    def test_rhs_in_matrix_file(self):
        path = str(CORPUS / "harwell_boeing" / "right_hand_sides.rua")
        report = self.report(path, "-o", self.out("x.mtx"))
        self.assertEqual((report["right_hand_side"]["source"], report["right_hand_side"]["columns"]), ("file", 2))
        self.assertEqual(read_array(self.out("x.mtx")), [[1, 1], [3, 2]])
        self.assertIn("also contains 2 right-hand sides", self.run_tool("convert", path, self.out("A.mtx")).stderr)
        self.convert(path, self.out("A.mtx"), "--rhs", self.out("b.mtx"))
        self.assertEqual(read_array(self.out("b.mtx")), [[1, 2], [3, 4]])
        self.assertTrue(self.report(self.out("A.mtx"), "--rhs", path)["solved"])

    def test_petsc_widths(self):
        start = self.file("a.mtx", coordinate(1, 2, [(1, 2, 1.5)]))
        self.convert(start, self.out("a.petsc"))
        self.assertEqual(pathlib.Path(self.out("a.petsc")).read_bytes(), struct.pack(">6id", 1211216, 1, 2, 1, 1, 1, 1.5))
        self.convert(start, self.out("a.petsc"), "--index-bits", "64", "--precision", "float")
        self.assertEqual(pathlib.Path(self.out("a.petsc")).read_bytes(), struct.pack(">6qf", 1211216, 1, 2, 1, 1, 1, 1.5))

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_numpy_round_trip(self):
        random = numpy.random.default_rng(1)
        for dtype in ["<f8", ">f8", "<f4", ">f4", "<f2", ">f2", "i1", "u2", ">i4", "<i8", ">u8", "?"]:
            for order in "CF":
                for shape in [(5,), (3, 4), (0, 3), (1, 1), (300, 257)]:
                    values = numpy.array(abs(random.standard_normal(shape) * 50), order=order).astype(dtype)
                    numpy.save(self.out("a.npy"), values)
                    self.convert(self.out("a.npy"), self.out("b.npy"), "--precision", "float" if "f4" in dtype else "double")
                    again = numpy.load(self.out("b.npy")).reshape(shape)
                    self.assertTrue((again == values).all(), (dtype, order, shape))

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_every_half_precision_number(self):
        values = numpy.arange(2**16, dtype=numpy.uint16).view(numpy.float16)
        values = values[numpy.isfinite(values)]
        for order in "<>":
            numpy.save(self.out("a.npy"), values.astype(order + "f2"))
            self.convert(self.out("a.npy"), self.out("b.npy"))
            expected = values.astype(numpy.float64)
            self.assertEqual(numpy.load(self.out("b.npy")).tobytes(), expected.tobytes())

    def expect_archive(self, matrix, expected, **options):
        scipy.sparse.save_npz(self.out("a.npz"), matrix, **options)
        result = self.convert(self.out("a.npz"), self.out("a.mtx"))
        self.assertEqual((result["rows"], result["columns"]), expected.shape)
        dense = numpy.zeros(expected.shape)
        for (i, j), value in self.entries(self.out("a.mtx")).items():
            dense[i - 1, j - 1] = value
        self.assertTrue((dense == expected).all(), (matrix.format, expected))

    @unittest.skipUnless(scipy, "scipy is not installed")
    def test_scipy_archives(self):
        random = numpy.random.default_rng(3)
        for height, width, rows, columns in [(1, 1, 1, 1), (2, 3, 1, 4), (3, 2, 5, 1), (4, 1, 3, 3), (2, 2, 16, 17)]:
            for density in [0, 0.1, 0.5, 1]:
                blocks = scipy.sparse.random(rows * height, columns * width, density, random_state=random)
                for sparse_format in ["csr", "csc", "coo", "dia"]:
                    self.expect_archive(blocks.asformat(sparse_format), blocks.toarray())
                blocks = blocks.tobsr(blocksize=(height, width))
                self.expect_archive(blocks, blocks.toarray())
                self.expect_archive(blocks.T, blocks.T.toarray(), compressed=False)
                whole = scipy.sparse.bsr_matrix(((100 * blocks.data).astype(">i2"), blocks.indices, blocks.indptr),
                                                shape=blocks.shape)
                self.expect_archive(whole, (100 * blocks.toarray()).astype("i2"))
        once = numpy.arange(12.0).reshape(2, 2, 3)
        twice = scipy.sparse.bsr_matrix((once, [1, 1], [0, 2]), shape=(2, 6))
        self.expect_archive(twice, numpy.hstack([numpy.zeros((2, 3)), once.sum(axis=0)]))

    @unittest.skipUnless(scipy, "scipy is not installed")
    def test_diagonals_beside_the_matrix_are_ignored(self):
        random = numpy.random.default_rng(4)
        for rows, columns, length in [(1, 1, 1), (3, 5, 4), (5, 3, 7), (4, 4, 4), (1, 9, 2), (33, 31, 33)]:
            for count in [0, 1, 4, 9]:
                offsets = random.choice(numpy.arange(-12, 13), count, replace=False)
                data = random.standard_normal((count, length))
                expected = numpy.zeros((rows, columns))
                for d, j in numpy.ndindex(data.shape):
                    i = j - offsets[d]
                    if j < columns and 0 <= i < rows:
                        expected[i, j] = data[d, j]
                    else:
                        data[d, j] = random.choice([numpy.nan, numpy.inf, 1e300])
                for order in "CF":
                    diagonals = scipy.sparse.dia_matrix((numpy.array(data, order=order), offsets), shape=(rows, columns))
                    self.expect_archive(diagonals, expected, compressed=order == "C")

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_malformed_archives_are_refused(self):
        bsr = {"format": b"bsr", "shape": [2, 4], "data": numpy.ones((2, 2, 2)), "indices": [0, 1], "indptr": [0, 2]}
        dia = {"format": b"dia", "shape": [2, 2], "data": numpy.ones((2, 2)), "offsets": [0, 1]}
        for start, change, words in [
            (bsr, {"data": numpy.ones((2, 2, 3))}, "a 2 by 4 matrix cannot be divided into blocks of 2 by 3"),
            (bsr, {"data": numpy.ones((2, 3, 2))}, "a 2 by 4 matrix cannot be divided into blocks of 3 by 2"),
            (bsr, {"data": numpy.ones((2, 0, 2))}, "blocks of 0 by 2"),
            (bsr, {"data": numpy.ones((3, 2, 2))}, "an array of 3 dimensions, the first of size 2, is expected"),
            (bsr, {"data": numpy.ones((2, 2))}, "an array of 3 dimensions, the first of size 2, is expected"),
            (bsr, {"data": numpy.ones((2, 2, 2, 1))}, "an array of 4 dimensions"),
            (bsr, {"data": numpy.full((2, 2, 2), numpy.nan)}, "'data': at byte 128: nan"),
            (bsr, {"indices": [0, 2]}, r"indices\[1\] is 2: indices are from 0 to 1"),
            (bsr, {"indptr": [0, 1]}, "indptr ends at 1 of 2 indices"),
            (bsr, {"indptr": [0, 1, 2]}, "indptr has 3 elements where 2 are expected"),
            (bsr, {"indptr": [0.0, 2.0]}, "a vector of integers is expected"),
            (dia, {"offsets": [1, 1]}, "the diagonal 1 is given twice"),
            (dia, {"offsets": [0]}, "an array of 2 dimensions, the first of size 1, is expected"),
            (dia, {"data": numpy.ones(2)}, "an array of 2 dimensions, the first of size 2, is expected"),
            (dia, {"data": numpy.array([[1, 1], [1, numpy.inf]])}, "'data': at byte 152: inf"),
            (dia, {"format": b"lil"}, "format 'lil': csr, csc, coo, bsr and dia are read"),
        ]:
            with self.subTest(words):
                numpy.savez(self.out("a.npz"), **{**start, **change})
                self.assertRegex(self.error("info", self.out("a.npz"), code=BAD_INPUT), words)
                numpy.savez(self.out("a.npz"), **start)
                self.convert(self.out("a.npz"), self.out("a.mtx"))

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_edges_of_savetxt(self):
        for header in ["", "FromNodeId ToNodeId Weight"]:
            numpy.savetxt(self.out("a.txt"), [[0, 7, 2.5], [7, 123456, 3]], header=header)
            result = self.convert(self.out("a.txt"), self.out("a.mtx"), *([] if header else ["--from", "edge-list"]),
                                  "--labels", self.out("labels"))
            self.assertEqual(pathlib.Path(self.out("labels")).read_text(), "0\n7\n123456\n")
            self.assertEqual(self.entries(self.out("a.mtx")), {(1, 2): 2.5, (2, 1): 2.5, (2, 3): 3, (3, 2): 3})
        path = self.file("b.txt", "1.0 2.0\n1.5 2.0\n")
        self.assertIn(path + ":2:1: '1.5' where the number of a vertex, a whole number, is expected",
                      self.error("graph", "components", path, "--from", "edge-list", code=BAD_INPUT))

    def test_fuzz_corpus_is_read(self):
        formats = {"matrix_market": "matrix-market", "npy": "npy", "metis": "metis", "edge_list": "edge-list",
                   "petsc": "petsc", "harwell_boeing": "harwell-boeing", "npz": "npz", "text_columns": "text"}
        refused = ["weights_after_the_end.graph", "empty.npz"]
        for folder, name in formats.items():
            for seed in sorted((CORPUS / folder).iterdir()):
                with self.subTest(seed):
                    self.run_tool("convert", str(seed), self.out("a.mtx"), "--from", name,
                                  code=BAD_INPUT if seed.name in refused else SOLVED)

    def test_malformed_file_error_names_place(self):
        for name, content, place in [
            ("a.graph", "3 1\n2\n\n1\n", r":2:1: vertex 1"),
            ("a.edges", "1 2\n3\n", r":2:2: the second vertex"),
            ("a.npy", b"\x93NUMPY\x01\x00\x05\x00", r": at byte 10: 5 bytes of header"),
            ("a.petsc", struct.pack(">5i", 1211216, 2000000000, 1, 0, 0), r": at byte 16: 2000000000 lengths of rows"),
            ("a.rua", "title\n", r":2:1: the file ends"),
            ("a.graph.gz", gzip.compress(b"2 1\n2\n1\n")[:-9], r"gzip"),
        ]:
            with self.subTest(name):
                path = self.file(name, content)
                for command in [["info", path], ["solve", path], ["convert", path, self.out("o.mtx")]]:
                    self.assertRegex(self.error(*command, code=BAD_INPUT), re.escape(path) + ".*" + place)

    def test_names_are_documented(self):
        guide = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tool.md"
        documented = set(re.findall(r"`(\w+)`", guide.read_text()))
        result = self.convert(self.file("a.mtx", self.path), self.out("b.mtx"))
        self.assertEqual((set(result) | set(result["input"]) | set(result["output"])) - documented, set())


if __name__ == "__main__":
    unittest.main()
