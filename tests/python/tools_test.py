# SPDX-License-Identifier: BSD-3-Clause
"""Tables, files, generators, echelon forms, Schur complements and graphs, against NumPy and SciPy."""
import math
import tempfile
import unittest
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.csgraph as csgraph

import echelon
import echelon.graph as graph
from support import known_solution, poisson, tolerance, unsymmetric


class Tables(unittest.TestCase):
    def test_methods(self):
        methods = echelon.methods()
        self.assertEqual(methods["cg"].kind, "iterative")
        self.assertIn("preconditioner", methods["cg"].options)
        self.assertEqual(methods["cg"].options["flexible"].type, "boolean")
        self.assertTrue(methods["cg"].takes_operators)

    def test_choose(self):
        best = echelon.choose(poisson(30))[0]
        self.assertIn(best.method, echelon.methods())
        self.assertTrue(best.reason)
        self.assertEqual(echelon.choose(poisson(30), device="serial")[0].device, "serial")

    def test_info(self):
        A = unsymmetric()
        found = echelon.info(A)
        self.assertEqual((found.rows, found.columns, found.nonzeros), (40, 40, A.nnz))
        self.assertEqual(found.structural_rank, csgraph.structural_rank(A))
        self.assertEqual(found.longest_row, np.diff(A.indptr).max())
        self.assertEqual(found.largest_magnitude, np.abs(A.data).max())
        self.assertFalse(found.symmetric_values)
        self.assertIn("structural rank", str(found))
        self.assertTrue(echelon.info(poisson().toarray().astype(np.float32)).symmetric_values)
        self.assertIsNone(echelon.info(A, structural_rank=False).structural_rank)


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def test_every_format(self):
        A = poisson(5)
        for name in ("A.mtx", "A.mtx.gz", "A.npz", "A.petsc"):
            with self.subTest(name):
                echelon.write(self.path / name, A)
                self.assertEqual((echelon.read(self.path / name) != A).nnz, 0)
        B = known_solution(7, 3)
        for name in ("B.npy", "B.mtx"):
            with self.subTest(name):
                echelon.write(self.path / name, B)
                np.testing.assert_array_equal(echelon.read(self.path / name), B)
        echelon.write(self.path / "A.graph", graph.adjacency(A))
        self.assertEqual((echelon.read(self.path / "A.graph", role="graph") != graph.adjacency(A)).nnz, 0)

    def test_scipy_reads_and_writes(self):
        A = unsymmetric()
        echelon.write(self.path / "A.mtx", A.tocsc())
        self.assertLess(abs(scipy.io.mmread(self.path / "A.mtx") - A).max(), 1e-15)
        scipy.io.mmwrite(self.path / "B.mtx", A, precision=17)
        self.assertLess(abs(echelon.read(self.path / "B.mtx") - A).max(), 1e-15)
        found = echelon.read_file(self.path / "B.mtx", dtype=np.float32)
        self.assertEqual((found.format, found.matrix.dtype), ("matrix-market", np.float32))
        echelon.write(self.path / "b.mtx", np.arange(3.0))
        np.testing.assert_array_equal(echelon.read(self.path / "b.mtx"), [[0], [1], [2]])

    def test_errors_name_the_place(self):
        path = self.path / "bad.mtx"
        path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 1\n")
        with self.assertRaises(echelon.ParseError) as raised:
            echelon.read(path)
        self.assertEqual((raised.exception.file, raised.exception.line, raised.exception.column), (str(path), 3, 3))
        with self.assertRaises(echelon.ParseError):
            echelon.read(self.path / "absent.mtx")
        with self.assertRaises(echelon.BadOption):
            echelon.read(path, format="excel")
        with self.assertRaises(echelon.BadOption):
            echelon.write(self.path / "A.json", np.eye(2))

    def test_generate(self):
        A = echelon.generate("poisson-2d", nx=12, ny=12)
        self.assertEqual((sp.csr_matrix(A) != poisson(12)).nnz, 0)
        self.assertEqual(A.indices.dtype, np.int32)
        self.assertEqual(echelon.generate("poisson_2d", rows=100, dtype=np.float32).shape, (100, 100))
        np.testing.assert_allclose(echelon.generate("hilbert", n=5), 1 / (np.add.outer(np.arange(5), np.arange(5)) + 1))
        with self.assertRaisesRegex(echelon.BadOption, "poisson-2d"):
            echelon.generate("poisson-2")
        with self.assertRaises(echelon.BadOption):
            echelon.generate("poisson-2d", nz=3)
        self.assertGreater(len(echelon.generators()), 50)


class Eliminations(unittest.TestCase):
    def test_rref(self):
        A = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
        for dtype in (np.float32, np.float64):
            form = echelon.rref(A.astype(dtype))
            np.testing.assert_allclose(form.R, [[1, 0, 1], [0, 1, 1], [0, 0, 0]], atol=1e-6)
            self.assertEqual((form.rank, form.determinant), (2, 0.0))
            np.testing.assert_array_equal(form.pivot_columns, [0, 1])
            np.testing.assert_allclose(A @ form.null_space, 0, atol=1e-6)
        self.assertIsNone(echelon.rref(A[:2]).determinant)

    def test_determinant(self):
        A = unsymmetric().toarray()
        form = echelon.rref(A)
        sign, logarithm = np.linalg.slogdet(A)
        self.assertAlmostEqual(form.log10_determinant, logarithm / math.log(10), places=9)
        self.assertAlmostEqual(form.determinant / (sign * math.exp(logarithm)), 1, places=9)
        large = echelon.rref(np.eye(200) * -1e3)
        self.assertEqual((large.determinant, echelon.rref(-np.eye(201) * 1e3).determinant), (math.inf, -math.inf))
        self.assertAlmostEqual(large.log10_determinant, 600)

    def test_rank(self):
        A = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
        for form in (A, sp.csr_matrix(A), A.astype(np.float32), A.tolist()):
            self.assertEqual(echelon.rank(form), 1)
        self.assertEqual(echelon.rank(poisson()), 144)
        self.assertEqual(echelon.rank(np.array([[2, 1], [1, 2]]), modulo=3), 1)
        self.assertEqual(echelon.rank(np.diag([1.0, 1e-9]), tolerance=1e-6), 1)
        with self.assertRaises(echelon.BadOption):
            echelon.rank(A, modulo=4)
        with self.assertRaises(echelon.NotANumber):
            echelon.rank(np.array([[np.nan]]))
        with self.assertRaises(echelon.NotANumber):
            echelon.rank(sp.csr_matrix(np.array([[np.nan]])))

    def test_invert(self):
        for dtype in (np.float32, np.float64):
            A = unsymmetric(dtype=dtype).toarray()
            before = A.copy()
            for form in (A, np.asfortranarray(A), A[::-1][::-1], sp.csr_matrix(A)):
                np.testing.assert_allclose(echelon.invert(form), np.linalg.inv(A), atol=tolerance(dtype))
            np.testing.assert_array_equal(A, before)
        with self.assertRaises(echelon.SingularMatrix):
            echelon.invert(np.ones((2, 2)))
        with self.assertRaises(echelon.DimensionMismatch):
            echelon.invert(np.ones((2, 3)))

    def test_certify(self):
        A = poisson()
        b = np.ones(144)
        x = echelon.factor(A).solve(b)
        for form in (A, A.toarray()):
            found = echelon.certify(form, b, x)
            self.assertTrue(found.proven)
            self.assertEqual(found.element_bounds.shape, (144, 1))
            wrong = echelon.certify(form, b, x + 1e-3)
            self.assertTrue(1e-3 <= wrong.error_bound < 2e-3, wrong.error_bound)
        strided = np.repeat(x, 2)[::2]
        self.assertLess(echelon.certify(A, b, strided).error_bound, 1e-9)
        self.assertFalse(echelon.certify(np.ones((2, 2)), np.ones(2), np.ones(2)).proven)

    def test_schur_complement(self):
        for dtype in (np.float32, np.float64, np.complex128):
            for A in (poisson(dtype=dtype), unsymmetric(dtype=dtype)):
                n = A.shape[0]
                if dtype is np.complex128:
                    A = (A + 0.25j * A.T).tocsr()
                dense = A.toarray().astype(np.promote_types(dtype, np.float64))
                interface = [3, 1, n - 1]
                interior = np.setdiff1d(np.arange(n), interface)
                expected = dense[np.ix_(interface, interface)] - dense[np.ix_(interface, interior)] @ np.linalg.solve(
                    dense[np.ix_(interior, interior)], dense[np.ix_(interior, interface)])
                x = known_solution(n, 2)
                b = (dense @ x).astype(dtype)
                for form in (A, A.toarray(), A.tocsc()):
                    S = echelon.schur_complement(form, interface)
                    np.testing.assert_allclose(S.matrix, expected, atol=tolerance(dtype))
                    np.testing.assert_array_equal(S.interior, interior)
                    for rhs, solution in ((b, x), (np.asfortranarray(b), x), (b[:, 0], x[:, 0])):
                        close = dict(rtol=10 * tolerance(dtype), atol=10 * tolerance(dtype))
                        np.testing.assert_allclose(S.solve(rhs), solution, **close)
                        xb = np.linalg.solve(S.matrix, S.reduce(rhs))
                        np.testing.assert_allclose(xb, solution[interface], **close)
                        np.testing.assert_allclose(S.expand(xb, rhs), solution, **close)
        self.assertEqual(echelon.schur_complement(poisson(), [0]).inertia, (143, 0, 0))
        with self.assertRaises(echelon.InvalidMatrix):
            echelon.schur_complement(poisson(), [1000])
        with self.assertRaises(echelon.NotPositiveDefinite):
            echelon.schur_complement(-poisson(), [0], factorization="cholesky")
        with self.assertRaises(echelon.BadOption):
            echelon.schur_complement(poisson(), [0], factorization="svd")


class ConstrainedLeastSquares(unittest.TestCase):
    def test_conditions_of_the_minimum(self):
        random = np.random.default_rng(6)
        A, C = random.uniform(-1, 1, (60, 12)), random.uniform(-1, 1, (4, 12))
        b, d, weights = random.uniform(-1, 1, 60), random.uniform(-1, 1, 4), 10 ** random.uniform(-2, 2, 60)
        kernel = np.linalg.svd(C)[2][4:].T  # of C
        start = np.linalg.lstsq(C, d, rcond=None)[0]
        root = np.sqrt(weights)[:, None]
        expected = start + kernel @ np.linalg.lstsq(root * (A @ kernel), root[:, 0] * (b - A @ start), rcond=None)[0]
        for convert in (np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix):
            found = echelon.constrained_least_squares(convert(A), b, convert(C), d, weights=weights)
            np.testing.assert_allclose(found.x, expected, rtol=1e-10)
            np.testing.assert_allclose(A.T @ (weights * (b - A @ found.x)), C.T @ found.multipliers, atol=1e-10)
            self.assertLess(max(found.constraint_error, found.gradient_error), 1e-12)
            self.assertTrue(found.report.solved)
        weighted = echelon.constrained_least_squares(A, b, weights=weights).x
        np.testing.assert_allclose(weighted, np.linalg.lstsq(root * A, root[:, 0] * b, rcond=None)[0], rtol=1e-10)

    def test_refusals(self):
        A, b = np.eye(3), np.ones(3)
        with self.assertRaises(echelon.SolveError):
            echelon.constrained_least_squares(A, b, [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]], [1.0, 1.0])
        self.assertFalse(echelon.constrained_least_squares(A, b, [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]], [1.0, 1.0],
                                                           check="ignore").report.solved)
        with self.assertRaises(echelon.DimensionMismatch):
            echelon.constrained_least_squares(A, b, np.ones((1, 2)), [1.0])
        with self.assertRaises(echelon.DimensionMismatch):
            echelon.constrained_least_squares(A, b, np.ones((1, 3)))
        with self.assertRaisesRegex(echelon.Error, "weight 1"):
            echelon.constrained_least_squares(A, b, weights=[1.0, -1.0, 1.0])

    def test_complex_numbers(self):
        random = np.random.default_rng(7)
        A, C = (random.uniform(-1, 1, (m, 9)) + 1j * random.uniform(-1, 1, (m, 9)) for m in (40, 3))
        b, d, weights = random.uniform(-1, 1, 40), random.uniform(-1, 1, 3) * 1j, random.uniform(0, 2, 40)
        found = echelon.constrained_least_squares(sp.csr_matrix(A), b, C, d, weights=weights)
        self.assertEqual(found.x.dtype, np.complex128)
        np.testing.assert_allclose(C @ found.x, d, atol=1e-13)
        np.testing.assert_allclose(A.conj().T @ (weights * (b - A @ found.x)), C.conj().T @ found.multipliers, atol=1e-12)


class ShiftedSystems(unittest.TestCase):
    def test_each_shift_is_solved(self):
        import scipy.sparse.linalg as sla
        A = poisson()
        n = A.shape[0]
        b = np.random.default_rng(8).uniform(-1, 1, n)
        shifts = 10 ** np.linspace(-3, 1, 20)
        for matrix in (A, A.toarray(), sla.aslinearoperator(A)):
            X = echelon.solve_shifted(matrix, b, shifts, rtol=1e-10)
            for k, shift in enumerate(shifts):
                self.assertLess(np.linalg.norm(A @ X[:, k] + shift * X[:, k] - b), 1e-10 * np.linalg.norm(b))
        X = echelon.solve_shifted(A, b, [1j, -2 + 0.5j])
        self.assertEqual(X.dtype, np.complex128)
        self.assertLess(np.linalg.norm(A @ X[:, 0] + 1j * X[:, 0] - b), 1e-8 * np.linalg.norm(b))

    def test_pencils(self):
        A = poisson()
        n = A.shape[0]
        B = sp.diags(np.linspace(1, 2, n)) + sp.eye(n, k=1)
        b = np.random.default_rng(9).uniform(-1, 1, n)
        for mass, shifts in ((B, [-1.0, 0.0, 2.5]), (B.toarray(), [1j, -3 + 0.1j]), (B @ B.T, [0.5, -7.0])):
            X = echelon.solve_shifted(A, b, shifts, mass)
            for k, shift in enumerate(shifts):
                np.testing.assert_allclose(A @ X[:, k] + shift * (mass @ X[:, k]), b, atol=1e-11)
        self.assertEqual(echelon.solve_shifted(A, b, [1.0], B, method="banded-lu").shape, (n, 1))
        with self.assertRaisesRegex(echelon.Error, "singular"):
            echelon.solve_shifted(np.eye(3), np.ones(3), [0.0, -1.0], np.eye(3))
        with self.assertRaises(echelon.DimensionMismatch):
            echelon.solve_shifted(A, b, [1.0], np.eye(3))

    def test_refusals(self):
        A, b = poisson(), np.ones(144)
        with self.assertRaisesRegex(echelon.Error, "after 3 products"):
            echelon.solve_shifted(A, b, [0.0], maxiter=3)
        self.assertEqual(echelon.solve_shifted(A, b, [0.0], maxiter=3, check="ignore").shape, (144, 1))
        with self.assertRaises(echelon.DimensionMismatch):
            echelon.solve_shifted(A, np.ones(3), [1.0])
        with self.assertRaises(echelon.BadOption):
            echelon.solve_shifted(A, b, [1.0], rtol=0)


class SteadyStates(unittest.TestCase):
    def test_each_probability_is_accurate(self):
        random = np.random.default_rng(3)
        up, down = 10 ** random.uniform(-5, 5, 60), 10 ** random.uniform(-5, 5, 60)
        Q = sp.diags([up, down], [1, -1], shape=(61, 61)).tocsr()
        Q = Q - sp.diags(np.asarray(Q.sum(axis=1)).ravel())
        expected = np.cumprod(np.concatenate([[1.0], up / down]).astype(np.longdouble))
        expected /= expected.sum()
        for matrix in (Q, Q.toarray(), Q.tocsc(), -Q):
            np.testing.assert_allclose(graph.steady_state(matrix), expected.astype(float), rtol=1e-13, atol=0)

    def test_iteration(self):
        P = np.random.default_rng(5).uniform(0, 1, (200, 200)) ** 6
        P /= P.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(graph.steady_state(P, method="iteration"), graph.steady_state(P, method="gth"), rtol=1e-11)
        with self.assertRaisesRegex(echelon.BadOption, "'gth'"):
            graph.steady_state(P, method="power")

    def test_probabilities(self):
        P = np.random.default_rng(4).uniform(0, 1, (30, 30))
        P /= P.sum(axis=1, keepdims=True)
        x = graph.steady_state(P)
        np.testing.assert_allclose(x @ P, x, rtol=1e-13)
        self.assertAlmostEqual(x.sum(), 1, places=14)

    def test_refusals(self):
        with self.assertRaisesRegex(echelon.Error, "2 closed classes"):
            graph.steady_state(np.eye(2))
        with self.assertRaisesRegex(echelon.InvalidMatrix, "row 1"):
            graph.steady_state([[0.0, 1.0], [0.5, 0.75]])
        with self.assertRaises(echelon.DimensionMismatch):
            graph.steady_state(np.ones((2, 3)))


class Graphs(unittest.TestCase):
    def setUp(self):
        path = sp.diags([1.0, 1.0], [-1, 1], shape=(6, 6)).tolil()
        path[2, 3] = path[3, 2] = 0  # two paths of three vertices
        self.A = sp.csr_array(path)
        self.A.eliminate_zeros()
        self.L = graph.laplacian(self.A)

    def test_laplacian(self):
        np.testing.assert_array_equal(self.L.toarray(), csgraph.laplacian(self.A.toarray()))
        np.testing.assert_array_equal(graph.adjacency(self.L).toarray(), self.A.toarray())
        np.testing.assert_array_equal(graph.laplacian(self.A.toarray()).toarray(), self.L.toarray())
        with self.assertRaises(echelon.InvalidMatrix):
            graph.laplacian(sp.csr_array(np.triu(self.A.toarray())))
        self.assertEqual(graph.laplacian(sp.csr_array(np.triu(self.A.toarray())), symmetrise=True)[0, 0], 0.5)

    def test_components(self):
        found = graph.components(self.A)
        self.assertEqual(found.number, 2)
        np.testing.assert_array_equal(found.of_vertex, [0, 0, 0, 1, 1, 1])
        np.testing.assert_array_equal(found.sizes, [3, 3])

    def test_resistances(self):
        np.testing.assert_allclose(graph.resistances(self.L, [(0, 2), (0, 1), (0, 5), (4, 4)]), [2, 1, np.inf, 0])
        np.testing.assert_allclose(graph.resistances(self.L, np.array([[3, 5]])), [2])
        edges = graph.edge_resistances(self.L)
        np.testing.assert_array_equal(edges.first, [0, 1, 3, 4])
        np.testing.assert_allclose(edges.resistance, 1)
        with self.assertRaises(echelon.BadOption):
            graph.resistances(self.L, [(0, 6)])

    def test_potentials(self):
        currents = np.array([1.0, 0, -1, 0, 1, -1])
        for form in (currents, np.stack([currents, 2 * currents], axis=1), np.repeat(currents, 2)[::2]):
            x = graph.potentials(self.L, form)
            self.assertEqual(x.shape, form.shape)
            np.testing.assert_allclose(self.L @ x, form, atol=1e-9)
        with self.assertRaises(echelon.SingularMatrix):
            graph.potentials(self.L, np.ones(6), strict=True)
        np.testing.assert_allclose(graph.potentials(self.L, np.ones(6)), 0, atol=1e-9)
        with self.assertRaises(echelon.DimensionMismatch):
            graph.potentials(self.L, np.ones(5))

    def test_fiedler(self):
        L = graph.laplacian(sp.diags([1.0, 1.0], [-1, 1], shape=(50, 50)).tocsr())
        found = graph.fiedler(L, 2)
        np.testing.assert_allclose(found.values, 4 * np.sin(np.pi * np.array([1, 2]) / 100)**2, rtol=1e-5)
        np.testing.assert_allclose(L @ found.vectors, found.vectors * found.values, atol=1e-6)
        with self.assertRaises(echelon.Error):
            graph.fiedler(L, 2, maxiter=1)
