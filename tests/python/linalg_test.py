# SPDX-License-Identifier: BSD-3-Clause
"""The drop-ins beside scipy.sparse.linalg."""
import inspect
import pickle
import unittest

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import echelon
from echelon import linalg
from support import known_solution, poisson, tolerance, unsymmetric


class LeastSquares(unittest.TestCase):
    def test_like_scipy(self):
        generator = np.random.default_rng(3)
        for m, n in ((40, 12), (12, 40), (20, 20)):
            A = sp.random(m, n, 0.4, random_state=4, format="csr") + sp.eye(m, n, format="csr")
            b = generator.standard_normal(m)
            for ours, theirs in ((linalg.lsqr, sla.lsqr), (linalg.lsmr, sla.lsmr)):
                for damp in (0.0, 0.5):
                    options = {"damp": damp, "atol": 1e-13, "btol": 1e-13}
                    options |= {"iter_lim": 500} if ours is linalg.lsqr else {"maxiter": 500}
                    got = ours(A, b, **options)
                    expected = theirs(A, b, **options)
                    self.assertEqual(len(got), len(expected))
                    np.testing.assert_allclose(got[0], expected[0], atol=1e-8)
                    self.assertEqual(got[1], 2 if m > n or damp else 1)
                    self.assertAlmostEqual(got[3], expected[3], 6)
                    operator = sla.aslinearoperator(A)
                    np.testing.assert_allclose(ours(operator, b, **options)[0], expected[0], atol=1e-8)

    def test_first_guess_and_dense(self):
        generator = np.random.default_rng(5)
        A, b, x0 = generator.standard_normal((30, 8)), generator.standard_normal(30), generator.standard_normal(8)
        for ours in (linalg.lsqr, linalg.lsmr):
            x = ours(A, b, damp=0.3, atol=1e-13, btol=1e-13, x0=x0)[0]
            expected = sla.lsqr(A, b, damp=0.3, atol=1e-13, btol=1e-13, x0=x0)[0]
            np.testing.assert_allclose(x, expected, atol=1e-9)
        self.assertEqual(linalg.lsmr(A, np.zeros(30))[:2][1], 0)
        with self.assertRaises(echelon.BadOption):
            linalg.lsqr(A, b, calc_var=True)

    def test_solve_any_shape(self):
        generator = np.random.default_rng(6)
        for shape in ((25, 6), (6, 25)):
            A, b = generator.standard_normal(shape), generator.standard_normal(shape[0])
            for form in (A, sp.csr_matrix(A)):
                x, report = echelon.solve(form, b, return_report=True)
                np.testing.assert_allclose(x, np.linalg.lstsq(A, b, rcond=None)[0], atol=1e-10)
                self.assertEqual(str(report.status), "least_squares" if shape[0] > shape[1] else "underdetermined")
        self.assertLess(report.to_dict()["relative_residual"], 1e-10)


class Direct(unittest.TestCase):
    def test_spsolve(self):
        for dtype in (np.float32, np.float64):
            A = unsymmetric(dtype=dtype)
            for b in (known_solution(40, dtype=dtype), known_solution(40, 1, dtype), known_solution(40, 3, dtype),
                      sp.csc_matrix(known_solution(40, 1, dtype)), sp.csc_matrix(known_solution(40, 3, dtype))):
                for form in (A, A.tocsc(), A.tocoo()):
                    expected = sla.spsolve(A.tocsc(), b)
                    got = linalg.spsolve(form, b)
                    self.assertEqual(sp.issparse(got), sp.issparse(expected))
                    self.assertEqual(got.shape, expected.shape)
                    if sp.issparse(got):
                        got, expected = got.toarray(), expected.toarray()
                    np.testing.assert_allclose(got, expected, rtol=tolerance(dtype), atol=tolerance(dtype))
        A = poisson(60)
        got = linalg.spsolve(A, np.ones(3600))
        np.testing.assert_allclose(got, sla.spsolve(A.tocsc(), np.ones(3600)), rtol=1e-10)
        np.testing.assert_allclose(linalg.spsolve(unsymmetric(), np.ones(40), permc_spec="NATURAL"),
                                   sla.spsolve(unsymmetric().tocsc(), np.ones(40)), rtol=1e-9)

    def test_spsolve_errors(self):
        singular = sp.csc_matrix([[1.0, 1.0], [1.0, 1.0]])
        with self.assertRaises(np.linalg.LinAlgError):
            linalg.spsolve(singular, np.array([1.0, 2.0]))
        with self.assertRaises(ValueError):
            linalg.spsolve(sp.csc_matrix(np.ones((2, 3))), np.ones(2))
        with self.assertRaises(ValueError):
            linalg.spsolve(poisson(), np.ones(3))
        with self.assertRaises(ValueError):
            linalg.spsolve(poisson(), np.ones(144), permc_spec="RANDOM")

    def test_splu(self):
        A = unsymmetric().tocsc()
        ours, theirs = linalg.splu(A), sla.splu(A)
        b = known_solution(40, 2)
        for trans in "NTH":
            np.testing.assert_allclose(ours.solve(b, trans), theirs.solve(b, trans), rtol=1e-9)
            np.testing.assert_allclose(ours.solve(b[:, 0], trans=trans), theirs.solve(b[:, 0], trans), rtol=1e-9)
        self.assertEqual(ours.shape, theirs.shape)
        self.assertGreaterEqual(ours.nnz, A.nnz)
        with self.assertRaises(AttributeError):
            ours.M
        np.testing.assert_allclose(pickle.loads(pickle.dumps(ours)).solve(b), ours.solve(b), rtol=1e-9)
        with self.assertRaises(echelon.SingularMatrix):
            linalg.splu(sp.csc_matrix(np.ones((2, 2)))).solve(np.array([1.0, 2.0]))
        with self.assertRaises(echelon.BadOption):
            linalg.splu(A, diag_pivot_thresh=0.5)

    def test_triangles(self):
        """L U is A with permuted rows and columns, of block triangular matrices as well."""
        blocks = sp.bmat([[unsymmetric(), sp.random(40, 40, 0.1, random_state=3)], [None, unsymmetric().T]]).tocsc()
        arrow = sp.eye(30).tolil()
        arrow[:, 0], arrow[0, :] = 1e3, 2e-3
        for A in (unsymmetric().tocsc(), blocks, arrow.tocsc(), sp.diags([1e100, 1e-100, 3.0]).tocsc(), poisson().tocsc()):
            lu = linalg.splu(A)
            n = A.shape[0]
            Pr, Pc = sp.csc_matrix((np.ones(n), (lu.perm_r, np.arange(n)))), sp.csc_matrix((np.ones(n), (np.arange(n), lu.perm_c)))
            expected = (Pr @ A @ Pc).toarray()
            np.testing.assert_allclose((lu.L @ lu.U).toarray(), expected, rtol=1e-12, atol=1e-13 * abs(A).max(axis=0).toarray().max())
            np.testing.assert_array_equal(lu.L.diagonal(), np.ones(n))
            self.assertEqual(sp.triu(lu.L, 1).nnz + sp.tril(lu.U, -1).nnz, 0)
            self.assertEqual((lu.L.format, lu.U.format), ("csc", "csc"))

    def test_factorized(self):
        A = poisson()
        np.testing.assert_allclose(linalg.factorized(A)(np.ones(144)), sla.factorized(A.tocsc())(np.ones(144)), rtol=1e-9)

    def test_spilu(self):
        A = unsymmetric()
        M = linalg.spilu(A.tocsc())
        x, info = sla.gmres(A, np.ones(40), M=sla.LinearOperator(A.shape, M.solve), atol=0)
        self.assertEqual(info, 0)
        with self.assertWarnsRegex(UserWarning, "drop_tol"):
            linalg.spilu(A, drop_tol=1e-3)
        with self.assertRaises(echelon.BadOption):
            M.solve(np.ones(40), "T")


class Iterative(unittest.TestCase):
    def test_beside_scipy(self):
        b = np.ones(400)
        for name in ("cg", "minres", "bicgstab", "gmres"):
            ours = getattr(linalg, name)
            for A in (poisson(20), poisson(20).tocsc(), sla.aslinearoperator(poisson(20)), poisson(20).toarray()):
                x, info = ours(A, b)
                self.assertEqual(info, 0, name)
                self.assertLess(np.linalg.norm(poisson(20) @ x - b), 1e-5 * np.linalg.norm(b))
            x, info = ours(poisson(20), b, rtol=1e-10)
            np.testing.assert_allclose(x, sla.spsolve(poisson(20).tocsc(), b), rtol=1e-7)
            again, info = ours(poisson(20), b, x, rtol=1e-8)
            np.testing.assert_array_equal(again, x)
            x, info = ours(poisson(20), b, maxiter=1)
            self.assertGreater(info, 0)
            self.assertEqual(ours(poisson(20), b.reshape(-1, 1))[0].shape, (400,))
            self.assertEqual(ours(poisson(20), np.zeros(400))[1], 0)

    def test_signatures(self):
        """All arguments of SciPy's functions."""
        for name in ("cg", "minres", "bicgstab", "gmres", "spsolve", "splu", "spilu", "factorized"):
            removed = {"tol", "restrt", "args", "kwargs"}  # from newer versions
            theirs = set(inspect.signature(getattr(sla, name)).parameters) - removed
            self.assertLessEqual(theirs, set(inspect.signature(getattr(linalg, name)).parameters), name)

    def test_preconditioner(self):
        A, b = poisson(30), np.ones(900)
        M = echelon.Solver("amg").setup(A)
        for form in (M, sla.aslinearoperator(M), lambda r: M @ r):
            for name in ("cg", "gmres", "bicgstab"):
                x, info = getattr(linalg, name)(A, b, M=form, maxiter=40)
                self.assertEqual(info, 0)

    def test_callbacks(self):
        """The iterates of SciPy's callbacks, up to rounding errors."""
        A, b = poisson(), np.ones(144)
        for name in ("cg", "minres", "bicgstab"):
            ours, theirs = [], []
            getattr(linalg, name)(A, b, callback=ours.append)
            getattr(sla, name)(A, b, callback=lambda x: theirs.append(x.copy()))
            for k in range(min(len(ours), len(theirs), 8)):
                np.testing.assert_allclose(ours[k], theirs[k], rtol=1e-8, atol=1e-8, err_msg=f"{name} {k}")
            self.assertGreater(min(len(ours), len(theirs)), 8)

    def test_minres(self):
        A, b = poisson(), np.ones(144)
        for form in (A, A.toarray(), sla.aslinearoperator(A)):
            x, info = linalg.minres(form, b, shift=0.3, rtol=1e-10)
            self.assertEqual(info, 0)
            np.testing.assert_allclose(A @ x - 0.3 * x, b, atol=1e-8)
        with self.assertRaisesRegex(ValueError, "not symmetric"):
            linalg.minres(unsymmetric(), np.ones(40), check=True)

    def test_first_guess_and_tolerances(self):
        A, b = poisson(), np.ones(144)
        M = echelon.Solver("jacobi").setup(A)
        for preconditioner in (None, M):
            self.assertEqual(linalg.cg(A, b, "Mb", M=preconditioner)[1], 0)
        for wrong in (None, "legacy", -1.0, float("nan")):
            with self.assertRaises(ValueError):
                linalg.cg(A, b, atol=wrong)
        with self.assertRaises(ValueError):
            linalg.cg(A, b, "guess")
        np.testing.assert_array_equal(linalg.cg(A, b, rtol=np.inf)[0], np.zeros(144))

    def test_gmres_cycles(self):
        A, b = unsymmetric(), np.ones(40)
        residuals, iterates = [], []
        x, info = linalg.gmres(A, b, restart=2, maxiter=2, callback=residuals.append, callback_type="pr_norm", rtol=1e-14)
        self.assertEqual(info, 2)
        x, info = linalg.gmres(A, b, restart=2, maxiter=3, callback=iterates.append, callback_type="x", rtol=1e-14)
        self.assertEqual((info, len(iterates)), (3, 3))
        np.testing.assert_array_equal(iterates[-1], x)
        with self.assertWarnsRegex(DeprecationWarning, "callback_type"):
            x, info = linalg.gmres(A, b, restart=2, maxiter=3, callback=iterates.append, rtol=1e-14)
        self.assertEqual(info, 3)
        self.assertTrue(all(isinstance(r, float) for r in residuals))

    def test_what_is_not_served(self):
        with self.assertRaisesRegex(ValueError, "callback_type"):
            linalg.gmres(poisson(), np.ones(144), callback=print, callback_type="iterate")
        with self.assertRaisesRegex(AttributeError, "not given out"):
            linalg.spilu(poisson()).L
