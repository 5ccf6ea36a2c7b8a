# SPDX-License-Identifier: BSD-3-Clause
"""Many sparse systems with one pattern."""
import unittest
import warnings

import numpy as np
from support import unsymmetric

import echelon


class Batches(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(3)
        self.A = unsymmetric(40)
        self.values = self.A.data * self.random.uniform(0.9, 1.1, (50, self.A.nnz))

    def matrix(self, s, values=None):
        A = self.A.copy()
        A.data = (self.values if values is None else values)[s]
        return A

    def test_solutions_in_the_shape_and_type_of_b(self):
        for dtype in (np.float32, np.float64):
            batch = echelon.SparseBatch(self.A.astype(dtype))
            values = self.values.astype(dtype)
            for shape in ((50, 40), (50, 40, 3)):
                X = self.random.uniform(-1, 1, shape).astype(dtype)
                B = np.stack([self.matrix(s, values) @ X[s] for s in range(50)])
                found, report = batch.solve(values, B, return_report=True)
                self.assertEqual((found.shape, found.dtype), (X.shape, X.dtype))
                np.testing.assert_allclose(found, X, atol=1e-4 if dtype == np.float32 else 1e-12)
                self.assertTrue(report.solved.all())
                self.assertEqual(report.solved_singly, 0)
                self.assertEqual(set(report.status), {"direct"})

    def test_bad_systems_are_named(self):
        self.values[7] = 0
        self.values[9, 3] = np.nan
        batch = echelon.SparseBatch(self.A)
        b = np.ones((50, 40))
        with self.assertRaisesRegex(echelon.SolveError, "2 of 50 systems are not solved: the first is system 7") as caught:
            batch.solve(self.values, b)
        report = caught.exception.report
        self.assertEqual(list(np.flatnonzero(~report.solved)), [7, 9])
        self.assertEqual(report.status[9], "not_a_number")
        np.testing.assert_allclose(self.matrix(8) @ caught.exception.x[8], 1, atol=1e-12)
        with self.assertWarns(echelon.SolveWarning):
            batch.solve(self.values, b, check="warn")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            batch.solve(self.values, b, check="ignore")

    def test_misuse(self):
        batch = echelon.SparseBatch(self.A)
        with self.assertRaisesRegex(echelon.DimensionMismatch, "values has the shape"):
            batch.solve(self.values[:, :-1], np.ones((50, 40)))
        with self.assertRaisesRegex(echelon.DimensionMismatch, "b has the shape"):
            batch.solve(self.values, np.ones((49, 40)))
        with self.assertRaisesRegex(TypeError, "complex"):
            batch.solve(self.values * 1j, np.ones((50, 40)))
        with self.assertRaisesRegex(echelon.Error, "sparse"):
            echelon.SparseBatch(np.eye(3))
        with self.assertRaisesRegex(echelon.DimensionMismatch, "square"):
            echelon.SparseBatch(self.A[:10])
        self.assertEqual(batch.solve(self.values[:0], np.ones((0, 40))).shape, (0, 40))
