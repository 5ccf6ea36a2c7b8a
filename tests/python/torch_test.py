# SPDX-License-Identifier: BSD-3-Clause
"""Tensors of PyTorch as A and b, and gradients through a solve."""
import doctest
import unittest
import warnings

import numpy as np
import scipy.sparse as sp
from support import poisson, unsymmetric

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest(f"PyTorch is missing (Debian's python3-torch): {error}") from None

import echelon
import echelon.torch

warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")


def tensor(array, gradient=False):
    return torch.tensor(np.asarray(array), requires_grad=gradient)


def sparse_tensor(A, layout):
    if layout == "coo":
        A = A.tocoo()
        return torch.sparse_coo_tensor(tensor(np.array([A.row, A.col])), tensor(A.data), A.shape)
    return torch.sparse_csr_tensor(tensor(A.indptr), tensor(A.indices), tensor(A.data), A.shape)


class Tensors(unittest.TestCase):
    def test_solution_is_a_tensor_of_the_type_and_shape_of_b(self):
        for dtype in (np.float32, np.float64):
            A = unsymmetric(30, dtype)
            X = np.random.default_rng(1).uniform(-1, 1, (30, 3)).astype(dtype)
            for form in (tensor(A.toarray()), sparse_tensor(A, "coo"), sparse_tensor(A, "csr")):
                for x in (X, X[:, 0]):
                    with self.subTest(dtype=dtype, layout=form.layout, shape=x.shape):
                        found = echelon.solve(form, tensor(A @ x))
                        self.assertIsInstance(found, torch.Tensor)
                        self.assertEqual(found.dtype, tensor(x).dtype)
                        np.testing.assert_allclose(found.numpy(), x, rtol=0, atol=1e-4 if dtype == np.float32 else 1e-10)

    def test_repeated_entries_of_coo_are_summed(self):
        A = torch.sparse_coo_tensor([[0, 0, 1], [0, 0, 1]], tensor([1.0, 1.0, 4.0]), (2, 2))
        np.testing.assert_array_equal(echelon.solve(A, tensor([2.0, 4.0])), [1.0, 1.0])

    def test_solver_keeps_the_pattern_over_an_update(self):
        A = unsymmetric(30)
        solver = echelon.factor(sparse_tensor(A, "csr"))
        solver.update(sparse_tensor(2 * A, "csr"))
        x = tensor(np.arange(30.0))
        np.testing.assert_allclose(solver.solve(tensor(2 * A @ x.numpy())), x, atol=1e-10)
        solver.update(tensor(A.data))
        np.testing.assert_allclose(solver.solve(tensor(A @ x.numpy())), x, atol=1e-10)

    def test_a_gradient_is_not_lost_in_silence(self):
        A, b = tensor(np.eye(2), gradient=True), tensor(np.ones(2), gradient=True)
        for arguments in ((A, b.detach()), (A.detach(), b)):
            with self.assertRaisesRegex(TypeError, "echelon.torch.solve"):
                echelon.solve(*arguments)
        with torch.no_grad():
            np.testing.assert_array_equal(echelon.solve(A, b), [1.0, 1.0])

    def test_types_that_are_not_supported_are_named(self):
        b = torch.ones(2, dtype=torch.float64)
        for dtype in (torch.bfloat16, torch.complex32):
            with self.assertRaisesRegex(TypeError, str(dtype).removeprefix("torch.")):
                echelon.solve(torch.eye(2).to(dtype), b)


class Gradients(unittest.TestCase):
    def check(self, function, *arguments):
        self.assertTrue(torch.autograd.gradcheck(function, arguments))
        self.assertTrue(torch.autograd.gradgradcheck(function, arguments))

    def test_dense_matrix(self):
        A = tensor(unsymmetric(6).toarray(), gradient=True)
        for shape in (6, (6, 1), (6, 3)):
            self.check(echelon.torch.solve, A, tensor(np.random.default_rng(2).random(shape), gradient=True))

    def test_values_of_a_constant_pattern(self):
        b = tensor(np.arange(1.0, 9.0), gradient=True)
        for A in (unsymmetric(8), unsymmetric(8).tocsc(), unsymmetric(8).tocoo(), sparse_tensor(unsymmetric(8), "csr")):
            values = A.values().clone() if isinstance(A, torch.Tensor) else tensor(A.data)
            self.check(lambda v, b: echelon.torch.solve(A, b, values=v), values.requires_grad_(), b)

    def test_sparse_tensor_made_of_values(self):
        A = unsymmetric(8).tocoo()
        positions = tensor(np.array([A.row, A.col]))
        self.assertTrue(torch.autograd.gradcheck(
            lambda v, b: echelon.torch.solve(torch.sparse_coo_tensor(positions, v, A.shape), b),
            (tensor(A.data, gradient=True), tensor(np.ones(8), gradient=True))))

    def test_sparse_leaf_gets_a_sparse_gradient(self):
        A = sparse_tensor(unsymmetric(8), "coo").coalesce().requires_grad_()
        b = tensor(np.ones(8))
        x = echelon.torch.solve(A, b)
        x.sum().backward()
        dense = tensor(unsymmetric(8).toarray(), gradient=True)
        torch.linalg.solve(dense, b).sum().backward()
        mask = (unsymmetric(8).toarray() != 0)
        np.testing.assert_allclose(A.grad.to_dense().numpy(), dense.grad.numpy() * mask, atol=1e-12)

    def test_methods(self):
        A = poisson(3)
        values, b = tensor(A.data, gradient=True), tensor(np.arange(1.0, 10.0), gradient=True)
        for method, options in (("sparse-cholesky", {}), ("sparse-ldlt", {}), ("sparse-lu", {}), ("gmres", dict(rtol=1e-13)),
                                ("bicgstab", dict(rtol=1e-13))):
            with self.subTest(method=method):
                _, of_b = torch.autograd.grad(echelon.torch.solve(A, b, values=values, method=method, **options).sum(),
                                              (values, b))
                np.testing.assert_allclose(of_b, np.linalg.solve(A.toarray(), np.ones(9)), atol=1e-10)

    def test_misuse(self):
        A = unsymmetric(8)
        with self.assertRaisesRegex(ValueError, "stores"):
            echelon.torch.solve(A, torch.ones(8, dtype=torch.float64), values=torch.ones(3, dtype=torch.float64))
        with self.assertRaisesRegex(TypeError, "float32"):
            echelon.torch.solve(A, torch.ones(8))
        with self.assertRaisesRegex(TypeError, "tensor"):
            echelon.torch.solve(A, np.ones(8))
        with self.assertRaises(echelon.SingularMatrix):
            echelon.torch.solve(torch.zeros(2, 2), torch.ones(2))
        with self.assertRaises(echelon.DimensionMismatch):
            echelon.torch.solve(A, torch.ones(7, dtype=torch.float64))


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(echelon.torch))
    return tests
