# SPDX-License-Identifier: BSD-3-Clause
"""Arrays of JAX as A and b, and derivatives through a solve."""
import doctest
import unittest

import numpy as np
from support import unsymmetric

try:
    import jax
except ImportError as error:
    raise unittest.SkipTest(f"JAX is missing (scripts/python-environment): {error}") from None

import jax.numpy as jnp
from jax.experimental import sparse
from jax.test_util import check_grads

import echelon
import echelon.jax


def forms(A):
    """A as a dense array and in the sparse forms of JAX, each with a function that makes it of its elements."""
    rows = sparse.BCSR.from_scipy_sparse(A.tocsr())
    entries = sparse.BCOO.from_scipy_sparse(A.tocoo())
    columns = A.tocsc()
    yield jnp.asarray(A.toarray()), lambda values: values
    yield rows.data, lambda values: sparse.BCSR((values, rows.indices, rows.indptr), shape=A.shape)
    yield entries.data, lambda values: sparse.BCOO((values, entries.indices), shape=A.shape)
    yield jnp.asarray(columns.data), lambda values: sparse.CSC(
        (values, jnp.asarray(columns.indices), jnp.asarray(columns.indptr)), shape=A.shape)


class WithDoubles(unittest.TestCase):
    def setUp(self):
        jax.config.update("jax_enable_x64", True)
        self.addCleanup(jax.config.update, "jax_enable_x64", False)
        self.A = unsymmetric(8)
        self.b = jnp.asarray(np.arange(1.0, 9.0))
        self.x = np.linalg.solve(self.A.toarray(), self.b)

    def test_solution_is_an_array_of_jax(self):
        for values, made in forms(self.A):
            x = echelon.solve(made(values), self.b)
            self.assertIsInstance(x, jax.Array)
            np.testing.assert_allclose(x, self.x, rtol=1e-12)

    def test_derivatives_of_first_and_second_order(self):
        for values, made in forms(self.A):
            with self.subTest(A=type(made(values)).__name__):
                check_grads(lambda v, b: echelon.jax.solve(made(v), b), (values, self.b), order=2, modes=("fwd", "rev"))

    def test_several_right_hand_sides(self):
        B = jnp.stack([self.b, 2 * self.b, jnp.ones(8)], axis=1)
        for values, made in forms(self.A):
            check_grads(lambda v, b: echelon.jax.solve(made(v), b), (values, B), order=1, modes=("fwd", "rev"))

    def test_compiled_with_new_values(self):
        for values, made in forms(self.A):
            solve = jax.jit(lambda v, b: echelon.jax.solve(made(v), b))
            for factor in (1.0, 2.0, 1.0):
                np.testing.assert_allclose(solve(factor * values, self.b), self.x / factor, rtol=1e-12)

    def test_mapped_over_right_hand_sides(self):
        B = jnp.stack([self.b, jnp.ones(8)])
        X = jax.vmap(lambda b: echelon.jax.solve(jnp.asarray(self.A.toarray()), b))(B)
        np.testing.assert_allclose(X[0], self.x, rtol=1e-12)

    def test_symmetric(self):
        A = jnp.asarray((self.A + self.A.T).toarray())
        gradient = jax.grad(lambda b: echelon.jax.solve(A, b, method="ldlt", symmetric=True).sum())(self.b)
        np.testing.assert_allclose(gradient, np.linalg.solve(A, np.ones(8)), rtol=1e-10)

    def test_misuse(self):
        A = jnp.asarray(self.A.toarray())
        with self.assertRaisesRegex(TypeError, "float32"):
            echelon.jax.solve(A, self.b.astype(jnp.float32))
        with self.assertRaisesRegex(ValueError, "shape"):
            echelon.jax.solve(A, jnp.ones(7))
        with self.assertRaisesRegex(Exception, "SingularMatrix"):
            echelon.jax.solve(jnp.zeros((2, 2)), jnp.ones(2)).block_until_ready()


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(echelon.jax))
    return tests
