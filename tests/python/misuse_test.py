# SPDX-License-Identifier: BSD-3-Clause
"""What is not a system, and what has no solution."""
import pickle
import unittest
import warnings

import numpy as np
import scipy.sparse as sp

import echelon
import echelon.linalg
from support import poisson, unsymmetric


class Misuse(unittest.TestCase):
    def test_shapes(self):
        A = poisson()
        for bad in (np.ones(143), np.ones((3, 144)), np.ones((144, 1, 1)), 1.0):
            with self.subTest(shape=np.shape(bad)), self.assertRaisesRegex(echelon.DimensionMismatch, "144"):
                echelon.solve(A, bad)
        with self.assertRaises(echelon.DimensionMismatch):
            echelon.solve(np.ones((2, 3)), np.ones(2), method="cg")
        with self.assertRaises(echelon.DimensionMismatch):
            echelon.solve(np.ones(3), np.ones(3))
        with self.assertRaises(echelon.DimensionMismatch):
            echelon.solve(A, np.ones(144), method="cg", x0=np.ones(3))
        self.assertTrue(issubclass(echelon.DimensionMismatch, ValueError))

    def test_types(self):
        for name, dtype in (("float16", np.float16), ("object", object), ("longdouble", np.longdouble)):
            with self.subTest(name):
                with self.assertRaisesRegex(TypeError, "A (is complex|has elements)"):
                    echelon.solve(np.eye(2).astype(dtype), np.ones(2))
                with self.assertRaisesRegex(TypeError, "b (is complex|has elements)"):
                    echelon.solve(np.eye(2), np.ones(2).astype(dtype))
                with self.assertRaises(TypeError):
                    echelon.factor(np.eye(2)).solve(np.ones(2).astype(dtype))
        with self.assertRaisesRegex(TypeError, "echelon.solve"):
            echelon.certify(sp.eye(3, format="csr") * 1j, np.ones(3), np.ones(3))
        with self.assertRaisesRegex(TypeError, "complex"):
            echelon.rank(np.eye(2) * 1j, modulo=7)
        with self.assertRaisesRegex(TypeError, "complex"):
            echelon.factor(np.eye(2)).solve(np.ones(2) * 1j)
        with self.assertRaisesRegex(TypeError, "complex"):
            echelon.factor(np.eye(2)).update(np.eye(2) * 1j)
        with self.assertRaises(TypeError):
            echelon.solve("A", np.ones(3))
        for A, b in ((np.ma.array(np.eye(3)), np.ones(3)), (np.eye(3), np.ma.array(np.ones(3), mask=[0, 1, 0]))):
            with self.assertRaisesRegex(TypeError, "masked"):
                echelon.solve(A, b)

    def test_tolerances(self):
        A, b = poisson(), np.ones(144)
        for call in (lambda **options: echelon.solve(A, b, method="cg", **options),
                     lambda **options: echelon.Solver("cg").setup(A).solve(b, **options)):
            for error, words, options in ((TypeError, "rtol is a number", dict(rtol="1e-8")), (TypeError, "atol", dict(atol=[1])),
                                          (TypeError, "maxiter is an integer", dict(maxiter=2.5)),
                                          (echelon.BadOption, "rtol is 2", dict(rtol=2.0)), (echelon.BadOption, "atol is nan", dict(atol=np.nan)),
                                          (echelon.BadOption, "iterations is -1", dict(maxiter=-1))):
                with self.subTest(options), self.assertRaisesRegex(error, words):
                    call(**options)

    def test_preconditioner_of_another_shape(self):
        import scipy.sparse.linalg as sla
        for M in (np.eye(3), sp.eye(145, format="csr"), sla.aslinearoperator(np.eye(3)), np.ones(144)):
            with self.assertRaisesRegex(echelon.DimensionMismatch, "M is of shape.*144 rows"):
                echelon.solve(poisson(), np.ones(144), method="cg", M=M)

    def test_complex_product(self):
        import scipy.sparse.linalg as sla
        with self.assertRaisesRegex(TypeError, "complex"):
            echelon.solve(sla.LinearOperator((2, 2), matvec=lambda x: x * 1j, dtype=float), np.ones(2), method="cg")

    def test_product_of_wrong_length(self):
        class Operator:
            shape, dtype = (4, 4), np.float64

            def matvec(self, x):
                return x[:3]
        with self.assertRaisesRegex(echelon.DimensionMismatch, "3 elements instead of 4"):
            echelon.solve(Operator(), np.ones(4), method="cg")

    def test_names(self):
        with self.assertRaisesRegex(echelon.BadOption, "did you mean 'cg'") as raised:
            echelon.solve(np.eye(2), np.ones(2), method="cgg")
        self.assertEqual(raised.exception.did_you_mean, "cg")
        with self.assertRaises(echelon.BadOption) as raised:
            echelon.Solver("cg", preconditioner=dict(method="amg", coarsning="classical"))
        self.assertEqual(raised.exception.did_you_mean, "coarsening")
        for arguments in (dict(trans="X"), dict(check="never")):
            with self.assertRaises(ValueError):
                echelon.factor(np.zeros((2, 2)) + np.eye(2)).solve(np.ones(2), **arguments)
        with self.assertRaises(echelon.BadOption):
            echelon.Solver("cg", preconditioner=[1])
        with self.assertRaises(echelon.BadOption):
            echelon.Solver("auto", ordering="amd")
        with self.assertRaises(TypeError):
            echelon.Solver(3)
        with self.assertRaises((echelon.NotBuilt, echelon.NoDevice, echelon.BadOption)):
            echelon.solve(np.eye(2), np.ones(2), device="cuda:99")
        with self.assertRaises(echelon.BadOption):
            echelon.solve(np.eye(2), np.ones(2), M=np.eye(2))

    def test_no_setup(self):
        for call in (lambda s: s.solve(np.ones(2)), lambda s: s.apply(np.ones(2)), lambda s: s.report, lambda s: s.update(np.eye(2)),
                     lambda s: s.nbytes):
            with self.assertRaises(echelon.Error):
                call(echelon.Solver("lu"))

    def test_bad_arrays(self):
        A = poisson()
        A.indices[5] = 1000
        with self.assertRaisesRegex(echelon.InvalidMatrix, "1000|range|column"):
            echelon.solve(A, np.ones(144))
        A = poisson()
        A.indptr[3] = 0
        with self.assertRaises(echelon.InvalidMatrix):
            echelon.solve(A, np.ones(144))


class Outcomes(unittest.TestCase):
    def test_singular(self):
        A = np.array([[1.0, 2.0], [2.0, 4.0]])
        with self.assertRaises(np.linalg.LinAlgError) as raised:
            echelon.solve(A, np.array([1.0, 0.0]))
        error = raised.exception
        self.assertIsInstance(error, echelon.SingularMatrix)
        self.assertEqual(error.report.status, "inconsistent")
        self.assertEqual(error.x.shape, (2,))
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual(copy.report.rank, 1)
        self.assertEqual(str(copy), str(error))

    def test_least_squares(self):
        A = np.array([[1.0, 2.0], [2.0, 4.0]])
        b = np.array([1.0, 0.0])
        x, report = echelon.solve(A, b, least_squares=True, return_report=True)
        self.assertEqual(report.status, echelon.Status.least_squares)
        np.testing.assert_allclose(x, np.linalg.lstsq(A, b, rcond=None)[0])

    def test_not_converged(self):
        A, b = poisson(30), np.ones(900)
        with self.assertRaisesRegex(echelon.NotConverged, "maxiter") as raised:
            echelon.solve(A, b, method="cg", maxiter=3)
        self.assertEqual(raised.exception.report.iterations, 3)
        with self.assertWarns(echelon.SolveWarning):
            x = echelon.solve(A, b, method="cg", maxiter=3, check="warn")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(echelon.solve(A, b, method="cg", maxiter=3, check="ignore"), x)

    def test_not_positive_definite(self):
        with self.assertRaises(echelon.NotPositiveDefinite):
            echelon.factor(-poisson(), method="sparse-cholesky")

    def test_not_a_number(self):
        A, b = poisson(), np.ones(144)
        b[7] = np.nan
        with self.assertRaises(echelon.NotANumber) as raised:
            echelon.solve(A, b)
        self.assertEqual(raised.exception.report.row, 7)
        self.assertTrue(np.isnan(raised.exception.x).all())
        A.data[3] = np.inf
        with self.assertRaises(echelon.NotANumber):
            echelon.solve(A, np.ones(144))

    def test_out_is_kept_where_nothing_is_computed(self):
        out, b = np.full(144, 5.0), np.full(144, np.nan)
        with self.assertRaises(echelon.NotANumber):
            echelon.solve(poisson(), b, out=out)
        np.testing.assert_array_equal(out, 5.0)

    def test_failed_setup_is_reported_by_solve(self):
        A = unsymmetric()
        A.data[:] = 0
        solver = echelon.Solver("banded-lu").setup(A, check="ignore")
        self.assertFalse(solver.report.ready)
        with self.assertRaises(echelon.SolveError):
            solver.solve(np.ones(40))
