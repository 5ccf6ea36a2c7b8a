# SPDX-License-Identifier: BSD-3-Clause
"""Every container of A, type of numbers and of indices, and order of b."""
import array
import importlib.util
import itertools
import pickle
import sys
import types
import unittest
import unittest.mock
import warnings

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import echelon
from support import known_solution, poisson, tolerance, unsymmetric

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")


def with_indices(A, dtype):
    A = A.copy()
    if A.format == "coo":
        A.row, A.col = A.row.astype(dtype), A.col.astype(dtype)
    else:
        A.indptr, A.indices = A.indptr.astype(dtype), A.indices.astype(dtype)
    return A


def frozen(A):
    """A with arrays that cannot be written to."""
    for name in ("data", "indices", "indptr", "row", "col"):
        if isinstance(getattr(A, name, None), np.ndarray):
            getattr(A, name).flags.writeable = False
    return A


class Containers(unittest.TestCase):
    def check(self, A, dense, dtype, **options):
        n = dense.shape[0]
        x = known_solution(n, dtype=dtype)
        got = echelon.solve(A, (dense @ x).astype(dtype), **options)
        self.assertEqual(got.dtype, np.dtype(dtype))
        np.testing.assert_allclose(got, x, rtol=tolerance(dtype))

    def test_sparse_containers(self):
        for dtype, name, array in itertools.product((np.float32, np.float64), FORMATS, (False, True)):
            A = unsymmetric(dtype=dtype)
            container = getattr(sp, f"{name}_{'array' if array else 'matrix'}")(A)
            if name in ("csr", "csc", "coo"):
                frozen(container)
            with self.subTest(type=type(container).__name__, dtype=dtype.__name__), warnings.catch_warnings():
                warnings.simplefilter("error", echelon.EfficiencyWarning)
                self.check(container, A.toarray(), dtype)

    def test_index_types(self):
        A = unsymmetric()
        for name, index in itertools.product(("csr", "csc", "coo"), (np.int32, np.int64, np.uint16)):
            with self.subTest(format=name, index=index.__name__):
                self.check(frozen(with_indices(A.asformat(name), index)), A.toarray(), np.float64)

    def test_dense_orders(self):
        for dtype in (np.float32, np.float64):
            A = unsymmetric(dtype=dtype).toarray()
            wide = np.zeros((40, 90), dtype)
            wide[:, ::2][:, :40] = A
            padded = np.zeros((50, 60), dtype)
            padded[3:43, 5:45] = A
            forms = {"C": A, "F": np.asfortranarray(A), "transposed": A.T.copy().T, "every second column": wide[:, ::2][:, :40],
                     "backwards": A[::-1, ::-1].copy()[::-1, ::-1], "part": padded[3:43, 5:45],
                     "list": A.tolist(), "swapped bytes": A.astype(A.dtype.newbyteorder())}
            for name, form in forms.items():
                with self.subTest(name, dtype=dtype.__name__):
                    self.check(form, A, np.float64 if name == "list" else dtype)

    def test_integers(self):
        A = np.array([[4, 1], [1, 3]])
        for dtype in (np.int8, np.int32, np.uint64, bool):
            with self.subTest(dtype=dtype):
                x = echelon.solve(A.astype(dtype) if dtype is not bool else np.eye(2, dtype=bool), np.array([1, 2], np.int16))
                self.assertEqual(x.dtype, np.float64)
        np.testing.assert_allclose(echelon.solve(A, [5, 4]), [1, 1])

    def test_unsorted_and_repeated(self):
        A = unsymmetric()
        unsorted = A.copy()
        for i in range(A.shape[0]):
            row = slice(A.indptr[i], A.indptr[i + 1])
            unsorted.indices[row] = A.indices[row][::-1]
            unsorted.data[row] = A.data[row][::-1]
        repeated = sp.csr_matrix((np.repeat(A.data / 2, 2), np.repeat(A.indices, 2), 2 * A.indptr), shape=A.shape)
        for name, B in (("unsorted", unsorted), ("repeated", repeated)):
            before = B.indices.copy()
            with self.subTest(name), self.assertWarns(echelon.EfficiencyWarning):
                self.check(frozen(B), A.toarray(), np.float64)
            np.testing.assert_array_equal(B.indices, before)

    def test_arrays_longer_than_matrix(self):
        A = unsymmetric()
        A.data, A.indices = np.append(A.data, [7.0, 7.0]), np.append(A.indices, [0, 0]).astype(np.int32)
        self.check(A, A.toarray(), np.float64)

    def test_symmetric_half(self):
        A = poisson()
        for stored, half in (("lower", sp.tril), ("upper", sp.triu)):
            for name in ("csr", "csc", "coo"):
                with self.subTest(stored=stored, format=name):
                    self.check(echelon.symmetric(half(A).asformat(name), stored), A.toarray(), np.float64)
        with self.assertRaisesRegex(echelon.InvalidMatrix, "lower|diagonal"):
            echelon.solve(echelon.symmetric(A), np.ones(144))
        with self.assertRaises(ValueError):
            echelon.symmetric(A, "left")
        with self.assertRaises(TypeError):
            echelon.symmetric(np.eye(3))

    def test_operators(self):
        A = poisson()
        calls = []

        class Operator:
            shape, dtype = A.shape, A.dtype

            def matvec(self, x):
                calls.append(x)  # vectors may be kept
                return A @ x

        for operator in (Operator(), sla.aslinearoperator(A)):
            with self.subTest(type(operator).__name__):
                self.check(operator, A.toarray(), np.float64, method="cg", rtol=1e-10)
        first = calls[0].copy()
        np.testing.assert_array_equal(calls[0], first)

    def test_operator_transposed(self):
        A = unsymmetric()
        x = known_solution(40)
        solver = echelon.Solver("gmres", rtol=1e-10).setup(sla.aslinearoperator(A))
        np.testing.assert_allclose(solver.solve(A.T @ x, trans="T"), x, rtol=1e-7)
        solver = echelon.Solver("gmres").setup(sla.LinearOperator(A.shape, matvec=lambda v: A @ v))
        with self.assertRaises((NotImplementedError, TypeError, AttributeError)):
            solver.solve(x, trans="T")

    def test_sizes(self):
        for n in (0, 1, 2, 31, 33):
            with self.subTest(n=n):
                x = known_solution(n)
                np.testing.assert_allclose(echelon.solve(2 * sp.eye(n, format="csr"), 2 * x), x)
                np.testing.assert_allclose(echelon.solve(2 * np.eye(n), 2 * x), x)
                self.assertEqual(echelon.solve(2 * np.eye(n), np.ones((n, 0))).shape, (n, 0))

    def test_rectangular(self):
        A = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
        x = echelon.solve(A, np.array([1.0, 4.0]), method="gauss-jordan")
        np.testing.assert_allclose(A @ x, [1.0, 4.0])
        self.assertEqual(x.shape, (3,))


class RightHandSides(unittest.TestCase):
    def setUp(self):
        self.A = poisson()
        self.n = self.A.shape[0]

    def test_orders_and_strides(self):
        for dtype, columns in itertools.product((np.float32, np.float64), (None, 1, 3, 33)):
            A = self.A.astype(dtype)
            x = known_solution(self.n, columns, dtype)
            b = (A @ x).astype(dtype)
            forms = {"plain": b, "F": np.asfortranarray(b), "backwards": b[::-1].copy()[::-1],
                     "strided": np.repeat(b, 2, axis=0)[::2], "sparse": sp.csr_matrix(b) if columns else b}
            for name, form in forms.items():
                with self.subTest(name, dtype=dtype.__name__, columns=columns):
                    before = form.copy()
                    got = echelon.solve(A, form)
                    np.testing.assert_allclose(got, x, rtol=tolerance(dtype), atol=tolerance(dtype))
                    self.assertEqual(got.dtype, dtype)
                    if name != "sparse":
                        np.testing.assert_array_equal(form, before)
                        self.assertEqual(got.shape, form.shape)
                        if form.flags.c_contiguous or form.flags.f_contiguous:
                            self.assertEqual(got.flags.c_contiguous, form.flags.c_contiguous)

    @unittest.skipIf(importlib.util.find_spec("array_api_strict") is None, "array-api-strict is missing")
    def test_arrays_of_other_packages(self):
        import array_api_strict as xp
        A = self.A.toarray()
        x = known_solution(self.n, 2)
        b = xp.asarray(A @ x)
        for got in (echelon.solve(self.A, b), echelon.solve(xp.asarray(A), b), echelon.factor(xp.asarray(A)).solve(b),
                    echelon.solve(A, b, return_report=True).x):
            self.assertIs(type(got), type(b))
            self.assertLess(float(xp.max(xp.abs(got - xp.asarray(x)))), 1e-6)
        self.assertIs(type(echelon.solve(A, (A @ x).tolist())), np.ndarray)
        out = np.zeros((self.n, 2))
        self.assertIs(echelon.solve(A, b, out=out), out)

    def test_arrays_by_protocol(self):
        """Objects that give their memory by DLPack or the buffer protocol, and are of no package that NumPy knows."""
        class Exporter:
            def __init__(self, a):
                self.a = a

            def __dlpack__(self, **keywords):
                return self.a.__dlpack__(**keywords)

            def __dlpack_device__(self):
                return self.a.__dlpack_device__()
        A = self.A.toarray()
        x = known_solution(self.n)
        b = A @ x
        for matrix, rhs in ((Exporter(A), Exporter(b)), (memoryview(A), memoryview(b)), (self.A, array.array("d", b))):
            for got in (echelon.solve(matrix, rhs), echelon.factor(matrix).solve(rhs)):
                self.assertIs(type(got), np.ndarray)
                np.testing.assert_allclose(got, x, rtol=1e-7)

    def test_arrays_by_cuda_array_interface(self):
        class OfNumba:
            def __init__(self, a):
                self.a, self.dtype = a, a.dtype
                self.__cuda_array_interface__ = {}
        b = OfNumba(np.ones(self.n))
        with self.assertRaisesRegex(TypeError, "import cupy"):
            echelon.solve(self.A, b)
        with unittest.mock.patch.dict(sys.modules, cupy=types.SimpleNamespace(asarray=lambda array: array.a)):
            np.testing.assert_allclose(self.A @ echelon.solve(self.A, b), 1, rtol=1e-7)
            np.testing.assert_allclose(echelon.solve(OfNumba(np.diag([2.0, 4.0])), np.ones(2)), [0.5, 0.25])

    def test_promotion(self):
        for a, b in itertools.product((np.float32, np.float64), repeat=2):
            x = echelon.solve(self.A.astype(a), np.ones(self.n, b))
            self.assertEqual(x.dtype, np.promote_types(a, b))

    def test_read_only_b(self):
        b = np.ones(self.n)
        b.flags.writeable = False
        self.assertTrue(np.isfinite(echelon.solve(self.A, b)).all())

    def test_out(self):
        x = known_solution(self.n, 2)
        b = self.A @ x
        for order in "CF":
            out = np.zeros((self.n, 2), order=order)
            self.assertIs(echelon.solve(self.A, b, out=out), out)
            np.testing.assert_allclose(out, x, rtol=1e-6)
        solver = echelon.factor(self.A)
        vector = np.zeros(2 * self.n)[::2]
        self.assertIs(solver.solve(b[:, 0], out=vector), vector)
        np.testing.assert_allclose(vector, x[:, 0], rtol=1e-9)
        same = b[:, 0].copy()
        solver.solve(same, out=same)
        np.testing.assert_allclose(same, x[:, 0], rtol=1e-9)
        read_only = np.zeros(self.n)
        read_only.flags.writeable = False
        for bad in (np.zeros(self.n + 1), np.zeros(self.n, np.float32), [0.0] * self.n, read_only, np.zeros(self.n)[::-1]):
            with self.assertRaises(ValueError):
                solver.solve(b[:, 0], out=bad)


class Stencils(unittest.TestCase):
    def laplacian(self, nx=30, ny=20, **options):
        return echelon.Stencil((nx, ny), {(0, 0): 4.0, (1, 0): -1.0, (-1, 0): -1.0, (0, 1): -1.0, (0, -1): -1.0}, **options)

    def test_elements(self):
        A = self.laplacian(12, 12)
        self.assertEqual(A.shape, (144, 144))
        self.assertEqual(abs(A.tocsr() - poisson()).nnz, 0)
        self.assertEqual(repr(A), "<echelon.Stencil 5-point, 12 x 12, constant coefficients>")
        closed = self.laplacian(boundary="neumann").tocsr()
        np.testing.assert_array_equal(closed @ np.ones(600), 0)
        around = self.laplacian(boundary=("periodic", "dirichlet"))
        self.assertIn("periodic in x", repr(around))

    def test_arrays(self):
        random = np.random.default_rng(1)
        points, offsets = (7, 6, 5), [(0, 0, 0), (1, 0, 0), (0, -1, 0), (0, 0, 1)]
        arrays = {offset: random.uniform(1, 2, points[::-1]) for offset in offsets}
        A = echelon.Stencil(points, arrays).tocsr()
        row = np.arange(210).reshape(points[::-1])
        self.assertEqual(A[row[2, 3, 4], row[2, 3, 5]], arrays[1, 0, 0][2, 3, 4])
        self.assertEqual(A[row[2, 3, 4], row[2, 2, 4]], arrays[0, -1, 0][2, 3, 4])
        self.assertEqual(A[row[2, 3, 4], row[3, 3, 4]], arrays[0, 0, 1][2, 3, 4])
        flat = echelon.Stencil(points, {offset: values.ravel() for offset, values in arrays.items()})
        self.assertEqual(abs(flat.tocsr() - A).nnz, 0)
        mixed = echelon.Stencil((4, 3), {(0, 0): np.arange(1.0, 13.0), (1, 0): -1.0})
        self.assertEqual(mixed.tocsr()[0, 1], -1.0)

    def test_solve(self):
        x = known_solution(600)
        for dtype in (np.float32, np.float64):
            A = echelon.Stencil((30, 20), {offset: dtype(4 if offset == (0, 0) else -1)
                                           for offset in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))})
            b = (A.tocsr() @ x).astype(dtype)
            for method in ("auto", "structured-multigrid", "cg", "bicgstab", "minres", "gmres"):
                with self.subTest(method=method, dtype=dtype.__name__):
                    got, report = echelon.solve(A, b, method=method, return_report=True)
                    self.assertEqual(got.dtype, np.dtype(dtype))
                    np.testing.assert_allclose(got, x, rtol=1e-3 if dtype == np.float32 else 1e-5)
                    if method == "auto":
                        self.assertIn("structured-multigrid", report.method)
        solver = echelon.Solver("structured-multigrid").setup(self.laplacian())
        double = echelon.Stencil((30, 20), {(0, 0): 8.0, (1, 0): -2.0, (-1, 0): -2.0, (0, 1): -2.0, (0, -1): -2.0})
        b = double.tocsr() @ x
        np.testing.assert_allclose(solver.update(double).solve(b), x, rtol=1e-5)
        np.testing.assert_allclose(solver.solve(b, trans="T"), x, rtol=1e-5)
        self.assertEqual([c.method for c in echelon.choose(double)], ["structured-multigrid", "gmres"])

    def test_copies(self):
        solver = echelon.Solver("structured-multigrid").setup(self.laplacian())
        again = pickle.loads(pickle.dumps(solver))
        b = np.ones(600)
        np.testing.assert_array_equal(again.solve(b), solver.solve(b))

    def test_errors(self):
        with self.assertRaisesRegex(echelon.Error, "to_csr"):
            echelon.solve(self.laplacian(), np.ones(600), method="sparse-lu")
        with self.assertRaisesRegex(TypeError, "complex"):
            echelon.solve(self.laplacian(), np.ones(600) * 1j)
        for message, points, coefficients, boundary in (
                ("no coefficient", (4, 4), {(1, 0): 1.0}, "dirichlet"),
                ("no coefficient", (4, 4), {}, "dirichlet"),
                ("out of range", (4, 4), {(0, 0): 1.0, (2, 0): 1.0}, "dirichlet"),
                ("NaN", (4, 4), {(0, 0): np.nan}, "dirichlet"),
                ("shape", (4, 3), {(0, 0): np.ones((4, 3))}, "dirichlet"),
                ("11 values", (4, 3), {(0, 0): np.ones(11)}, "dirichlet"),
                ("three at most", (4, 3), {(0, 0, 0, 0): 1.0}, "dirichlet"),
                ("0 points", (4, 0), {(0, 0): 1.0}, "dirichlet"),
                ("'open'", (4, 4), {(0, 0): 1.0}, "open")):
            with self.subTest(message), self.assertRaisesRegex((echelon.InvalidMatrix, echelon.DimensionMismatch), message):
                echelon.Stencil(points, coefficients, boundary)
