# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of PyTorch and CuPy in a GPU's memory: used where they are, and answered there."""
import doctest
import unittest
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from support import poisson, unsymmetric

import echelon

FAMILIES = {}
try:
    import torch
    if torch.cuda.is_available():
        FAMILIES["torch"] = lambda a: torch.as_tensor(np.ascontiguousarray(a)).cuda()
        import echelon.torch
except ImportError:
    pass
try:
    import cupy
    if cupy.cuda.is_available():
        FAMILIES["cupy"] = cupy.asarray
        import cupyx.scipy.sparse
except ImportError:
    pass
if not FAMILIES:
    raise unittest.SkipTest("neither PyTorch nor CuPy with a GPU is here")


def host(a):
    return a.detach().cpu().numpy() if type(a).__module__ == "torch" else a.get()


def address(a):
    return a.data_ptr() if type(a).__module__ == "torch" else a.data.ptr


def sparse(family, A):
    """A in a GPU's memory in the formats of the package."""
    made = FAMILIES[family]
    if family == "cupy":
        yield cupyx.scipy.sparse.csr_matrix(sp.csr_matrix(A))
        yield cupyx.scipy.sparse.csc_matrix(sp.csc_matrix(A))
        yield cupyx.scipy.sparse.coo_matrix(sp.coo_matrix(A))
        return
    rows, columns, entries = A.tocsr(), A.tocsc(), A.tocoo()
    yield torch.sparse_csr_tensor(made(rows.indptr), made(rows.indices), made(rows.data), A.shape)
    yield torch.sparse_csc_tensor(made(columns.indptr), made(columns.indices), made(columns.data), A.shape)
    yield torch.sparse_coo_tensor(made(np.array([entries.row, entries.col])), made(entries.data), A.shape)


def each_family(*dtypes):
    """Makes of a test one that runs for each package and type of elements."""
    def decorated(test):
        def run(self):
            for family, made in FAMILIES.items():
                for dtype in dtypes or (np.float32, np.float64):
                    with self.subTest(family=family, dtype=dtype.__name__):
                        test(self, family, made, dtype)
        run.__name__ = test.__name__
        return run
    return decorated


class OnTheGpu(unittest.TestCase):
    def assert_solution(self, found, b, x):
        self.assertIs(type(found), type(b))
        self.assertEqual(found.device, b.device)
        self.assertEqual(found.dtype, b.dtype)
        np.testing.assert_allclose(host(found), x, rtol=0, atol=1e-3 if x.dtype == np.float32 else 1e-9)

    @each_family()
    def test_solve(self, family, made, dtype):
        for A in (poisson(12, dtype), unsymmetric(60, dtype)):
            X = np.random.default_rng(1).uniform(-1, 1, (A.shape[0], 3)).astype(dtype)
            for x in (X, X[:, 0]):
                b = made(A @ x)
                for form in (made(A.toarray()), *sparse(family, A)):
                    self.assert_solution(echelon.solve(form, b, rtol=1e-6 if dtype == np.float32 else 1e-12), b, x)

    @each_family()
    def test_solver_in_place(self, family, made, dtype):
        A = poisson(12, dtype)
        x = np.cos(np.arange(A.shape[0])).astype(dtype)
        b = made(A @ x)
        for method in ("cg", "sparse-cholesky", "amg"):
            solver = echelon.Solver(method).setup(next(sparse(family, A)))
            self.assertEqual(solver.device, "cuda:0")
            out = made(np.zeros_like(x))
            before = address(out)
            self.assertIs(solver.solve(b, out=out, check="ignore"), out)
            self.assertEqual(address(out), before)
            np.testing.assert_allclose(host(out), x, rtol=0, atol=1e-2 if dtype == np.float32 else 1e-6)
            guess = made(x)
            self.assert_solution(solver.solve(b, x0=guess), b, x)

    @each_family()
    def test_matrix_is_not_copied(self, family, made, dtype):
        A = made(unsymmetric(40, dtype).toarray())
        solver = echelon.Solver("lu").setup(A)
        x = np.linspace(1, 2, 40).astype(dtype)
        A *= 2  # in place: the solver refers to A, and an update reads what is there now
        b = made(2 * (unsymmetric(40, dtype) @ x))
        self.assert_solution(solver.update(A).solve(b), b, x)

    @each_family(np.float64)
    def test_orders_and_strides(self, family, made, dtype):
        A = unsymmetric(40, dtype).toarray()
        x = np.random.default_rng(2).uniform(-1, 1, (40, 4))
        for matrix in (made(A), made(A.T.copy()).T, made(np.kron(A, np.ones((1, 2))))[:, ::2]):
            B = made(A @ x)
            for b in (B, made((A @ x).T.copy()).T, B[:, 1]):
                with self.subTest(strides=(matrix.strides if family == "cupy" else matrix.stride(), tuple(b.shape))):
                    self.assert_solution(echelon.solve(matrix, b), b, x if b.ndim == 2 else x[:, 1])

    @each_family(np.float64)
    def test_preconditioner_applies_there(self, family, made, dtype):
        A = poisson(12)
        M = echelon.Solver("amg").setup(next(sparse(family, A)))
        expected = echelon.Solver("amg").setup(A) @ np.ones(144)
        np.testing.assert_allclose(host(M @ made(np.ones(144))), expected, rtol=1e-5)  # the cycle computes in float

    @each_family(np.float64)
    def test_inverse_and_values(self, family, made, dtype):
        A = unsymmetric(40)
        np.testing.assert_allclose(host(echelon.invert(made(A.toarray()))), np.linalg.inv(A.toarray()), atol=1e-12)
        solver = echelon.factor(next(sparse(family, A)))
        b = made(3 * (A @ np.ones(40)))
        self.assert_solution(solver.update(made(3 * A.data)).solve(b), b, np.ones(40))

    @each_family()
    def test_batch(self, family, made, dtype):
        A = unsymmetric(40, dtype)
        values = (A.data * np.linspace(1, 2, 100)[:, None]).astype(dtype)
        batch = echelon.SparseBatch(next(sparse(family, A)))
        x = batch.solve(made(values), made(np.tile(A @ np.ones(40, dtype), (100, 1))))
        self.assertIs(type(x), type(made(values)))
        np.testing.assert_allclose(host(x), 1 / np.linspace(1, 2, 100)[:, None] * np.ones(40), rtol=1e-4 if dtype == np.float32 else 1e-12)

    @each_family(np.float64)
    def test_two_memories_are_refused(self, family, made, dtype):
        A, b = unsymmetric(40), np.ones(40)
        with self.assertRaisesRegex(echelon.DeviceMismatch, "cuda"):
            echelon.solve(A, made(b))
        with self.assertRaisesRegex(echelon.DeviceMismatch, "cuda"):
            echelon.solve(made(A.toarray()), b)
        with self.assertRaisesRegex(echelon.DeviceMismatch, "cuda"):
            echelon.factor(made(A.toarray())).solve(b)
        np.testing.assert_allclose(echelon.solve(A, b, device="cuda:0"), echelon.solve(A, b), rtol=1e-12)

    @unittest.skipUnless("cupy" in FAMILIES, "CuPy with a GPU is not here")
    def test_unsorted_indices_are_sorted_in_a_copy(self):
        A = cupyx.scipy.sparse.csr_matrix((cupy.array([1.0, 2.0, 3.0]), cupy.array([1, 0, 1]), cupy.array([0, 2, 3])), (2, 2))
        indices = A.indices.get()
        np.testing.assert_allclose(echelon.solve(A, cupy.array([4.0, 6.0])).get(), [1.0, 2.0])
        np.testing.assert_array_equal(A.indices.get(), indices)

    @each_family(np.float64)
    def test_outcomes(self, family, made, dtype):
        with self.assertRaises(echelon.SingularMatrix):
            echelon.solve(made(np.zeros((3, 3))), made(np.ones(3)))
        with self.assertRaisesRegex(ValueError, "out should be"):
            echelon.factor(made(np.eye(3))).solve(made(np.ones(3)), out=np.ones(3))
        self.assertEqual(echelon.solve(made(np.eye(3)), made(np.ones((3, 0)))).shape, (3, 0))

    @unittest.skipUnless("torch" in FAMILIES, "PyTorch with a GPU is not here")
    def test_gradients(self):
        A = torch.tensor(unsymmetric(8).toarray(), device="cuda", requires_grad=True)
        b = torch.arange(1.0, 9.0, dtype=torch.float64, device="cuda", requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(echelon.torch.solve, (A, b)))
        pattern = unsymmetric(30)
        values = torch.tensor(pattern.data, device="cuda", requires_grad=True)
        rows = torch.sparse_csr_tensor(*(torch.tensor(a, device="cuda") for a in (pattern.indptr, pattern.indices,
                                                                                  pattern.data)), pattern.shape)
        b = torch.ones(30, dtype=torch.float64, device="cuda", requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(lambda v, b: echelon.torch.solve(rows, b, values=v), (values, b)))

    @unittest.skipUnless("cupy" in FAMILIES, "CuPy with a GPU is not here")
    def test_tutorial(self):
        page = Path(__file__).resolve().parents[2] / "docs/tutorials/gpu.md"
        result = doctest.testfile(str(page), module_relative=False)
        self.assertGreater(result.attempted, 10)
        self.assertEqual(result.failed, 0)
