# SPDX-License-Identifier: BSD-3-Clause
"""Solvers as objects: phases, transposes, preconditioners, reports, copies."""
import copy
import gc
import html
import json
import logging
import pickle
import unittest

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import echelon
from support import known_solution, poisson, tolerance, unsymmetric


class Phases(unittest.TestCase):
    def test_every_method(self):
        A = poisson(8)
        x = known_solution(64)
        for name, method in echelon.methods().items():
            if method.devices == ["cuda"] or method.needs == "triangular" or name == "multigrid-dense":
                continue
            with self.subTest(name):
                solver = echelon.Solver(name, device="serial")
                solver.setup(A, check="ignore")
                if method.kind == "preconditioner":
                    self.assertEqual(solver.apply(x).shape, x.shape)
                elif solver.report.ready:
                    got = solver.solve(A @ x, check="ignore")
                    if solver.report.solved:
                        np.testing.assert_allclose(got, x, rtol=1e-5)

    def test_update_by_matrix_and_values(self):
        A = unsymmetric()
        x = known_solution(40)
        for form in (A, A.tocsc(), A.tocoo(), A.toarray()):
            solver = echelon.factor(form, method="sparse-lu" if sp.issparse(form) else "lu")
            with self.subTest(type(form).__name__):
                np.testing.assert_allclose(solver.update(form * 2).solve(A @ x), x / 2, rtol=1e-9)
                if sp.issparse(form):
                    np.testing.assert_allclose(solver.update(form.data * 4).solve(A @ x), x / 4, rtol=1e-9)
                    with self.assertRaises(echelon.DimensionMismatch):
                        solver.update(form.data[1:])

    def test_change_in_place_counts_from_update(self):
        A = unsymmetric()
        x = known_solution(40)
        solver = echelon.factor(A)
        A.data *= 2
        np.testing.assert_allclose(solver.update(A).solve(A @ x), x, rtol=1e-9)

    def test_failed_phases_leave_no_matrix(self):
        A = poisson()
        solver = echelon.factor(A, method="sparse-lu")
        with self.assertRaises(echelon.DimensionMismatch):
            solver.setup(sp.csr_matrix(np.ones((2, 3))))
        for call in (lambda: solver.solve(np.ones(144)), lambda: solver.update(A.data), lambda: solver.apply(np.ones(144))):
            with self.assertRaisesRegex(echelon.Error, "setup"):
                call()
        for again in (solver.update, solver.setup):
            again(A)
            np.testing.assert_allclose(A @ solver.solve(np.ones(144)), 1, rtol=1e-9)

    def test_preconditioner_keeps_its_matrix(self):
        A = poisson()
        M = echelon.Solver("ic0").setup(A.copy())
        solver = echelon.Solver("cg", M=M).setup(A)
        M.setup(A.astype(np.float32))
        gc.collect()
        np.testing.assert_allclose(A @ solver.solve(np.ones(144)), 1, rtol=1e-5)

    def test_analyze_then_setup(self):
        A = poisson()
        solver = echelon.Solver("sparse-cholesky").analyze(A)
        self.assertTrue(solver.report.ready)
        np.testing.assert_allclose(solver.setup(A).solve(A @ np.ones(144)), np.ones(144), rtol=1e-9)

    def test_setup_again_with_another_type(self):
        solver = echelon.Solver("sparse-lu")
        for dtype in (np.float64, np.float32, np.float64):
            A = unsymmetric(dtype=dtype)
            got = solver.setup(A).solve(A @ np.ones(40, dtype))
            self.assertEqual(got.dtype, dtype)
            np.testing.assert_allclose(got, 1, rtol=tolerance(dtype))

    def test_transposed(self):
        A = unsymmetric()
        B = known_solution(40, 3)
        for method in ("sparse-lu", "lu", "gmres", "bicgstab"):
            for trans in "TH":
                with self.subTest(method=method, trans=trans):
                    x = echelon.Solver(method).setup(A).solve(B, trans=trans)
                    np.testing.assert_allclose(A.T @ x, B, rtol=1e-6, atol=1e-6)

    def test_tolerances_and_first_guess(self):
        A = poisson(20)
        b = A @ known_solution(400)
        solver = echelon.Solver("cg").setup(A)
        solver.solve(b, rtol=1e-2)
        few = solver.report.iterations
        x = solver.solve(b, rtol=1e-12)
        self.assertGreater(solver.report.iterations, few)
        solver.solve(b, x0=x)
        self.assertEqual(solver.report.iterations, 0)
        same = b.copy()
        solver.solve(same, x0=x, out=same)
        np.testing.assert_allclose(same, x, rtol=1e-7)
        guess, report = echelon.solve(A, b, method="cg", x0=x.astype(np.float32), return_report=True)
        self.assertLess(report.iterations, few + 20)

    def test_auto(self):
        A = poisson(20)
        for methods in ("any", "direct", "iterative"):
            with self.subTest(methods=methods):
                solver = echelon.Solver(methods=methods).setup(A)
                x, report = solver.solve(np.ones(400), return_report=True)
                np.testing.assert_allclose(A @ x, 1, rtol=1e-6)
                if methods != "any":
                    self.assertEqual(report.status, "direct" if methods == "direct" else "converged")
        loose = echelon.Solver(methods="iterative", rtol=1e-2).setup(A)
        few = loose.solve(np.ones(400), return_report=True)[1].iterations
        self.assertLess(few, loose.solve(np.ones(400), rtol=1e-10, return_report=True)[1].iterations)
        self.assertEqual(echelon.factor(unsymmetric()).report.status, "ready")

    def test_default_device(self):
        A = poisson()
        b = A @ np.ones(A.shape[0])
        with echelon.config.threads(1):
            made = echelon.Solver("cg").setup(A)
            self.assertEqual(echelon.solve(A, b, return_report=True)[1].device, "openmp:1")
            with echelon.config.device("serial"):
                self.assertEqual(echelon.solve(A, b, return_report=True)[1].device, "serial")
                self.assertEqual(echelon.factor(A).device, "serial")
                self.assertEqual(echelon.solve(A, b, device="openmp:2", return_report=True)[1].device, "openmp:2")
        self.assertEqual(made.device, "openmp:1")
        self.assertEqual(echelon.Solver("cg").setup(A).device, "openmp")
        with self.assertRaisesRegex(echelon.BadOption, "at least 1, not 0"):
            echelon.config.threads(0).__enter__()
        with self.assertRaises(echelon.Error), echelon.config.device("abacus"):
            echelon.solve(A, b)

    def test_near_null_space(self):
        A = poisson(20)
        x = echelon.Solver("amg", near_null_space=np.ones((400, 1))).setup(A).solve(np.ones(400))
        np.testing.assert_allclose(A @ x, 1, rtol=1e-6)
        x = echelon.solve(A, np.ones(400), method="cg", preconditioner="amg", near_null_space=np.ones(400))
        np.testing.assert_allclose(A @ x, 1, rtol=1e-6)

    def test_error_bound(self):
        A = np.array([[2.0, 1.0], [1.0, 3.0]])
        report = echelon.solve(A, np.array([3.0, 4.0]), certify=True, return_report=True).report
        self.assertTrue(report.certificate.proven)
        self.assertLess(report.error_bound, 1e-14)


class Factorisations(unittest.TestCase):
    """Determinant, inertia and factors."""

    def test_numbers(self):
        for dtype in (np.float32, np.float64):
            A = unsymmetric(dtype=dtype)
            sign, logarithm = np.linalg.slogdet(A.toarray().astype(float))
            for method in ("lu", "sparse-lu"):
                found = echelon.Solver(method).setup(A).slogdet()
                self.assertEqual(found.sign, sign)
                self.assertAlmostEqual(found.logabsdet, logarithm, delta=1e-4 if dtype == np.float32 else 1e-10)
            S = poisson(6).astype(dtype) - sp.identity(36, dtype=dtype)
            values = np.linalg.eigvalsh(S.toarray())
            for method in ("ldlt", "sparse-ldlt"):
                self.assertEqual(echelon.Solver(method).setup(S).inertia(), (np.sum(values > 0), np.sum(values < 0), 0))
        with self.assertRaisesRegex(echelon.Error, "cg"):
            echelon.Solver("cg").setup(poisson()).slogdet()

    def test_factors(self):
        def scaled(A, f):
            p, q = f.row_permutation, f.column_permutation
            return 2.0**f.exponent * f.row_scales[p, None] * A.toarray()[p][:, q] * f.column_scales[q]

        for A, method, form in ((unsymmetric(), "lu", "lu"), (unsymmetric(), "sparse-lu", "lu"),
                                (poisson(6), "cholesky", "cholesky"), (poisson(6), "sparse-cholesky", "cholesky"),
                                (poisson(6) - sp.identity(36), "ldlt", "ldlt"),
                                (poisson(6) - sp.identity(36), "sparse-ldlt", "ldlt")):
            f = echelon.Solver(method).setup(A).factors()
            self.assertEqual(f.form, form)
            self.assertEqual(sp.issparse(f.L), method.startswith("sparse"))
            L = f.L.toarray() if sp.issparse(f.L) else f.L
            if form == "lu":
                product = L @ (f.U.toarray() if sp.issparse(f.U) else f.U) + f.coupling.toarray()
            elif form == "cholesky":
                product = L @ L.T
            else:
                D = np.diag(f.diagonal) + np.diag(f.subdiagonal[:-1], -1) + np.diag(f.subdiagonal[:-1], 1)
                product = L @ D @ L.T
            np.testing.assert_allclose(product, scaled(A, f), rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(np.tril(L), L)
        with self.assertRaisesRegex(echelon.Error, "no matrix"):
            echelon.Solver("lu").factors()


class Preconditioners(unittest.TestCase):
    def setUp(self):
        self.A = poisson(30)
        self.b = np.ones(900)

    def iterations(self, **options):
        x, report = echelon.solve(self.A, self.b, method="cg", return_report=True, **options)
        np.testing.assert_allclose(self.A @ x, self.b, rtol=1e-6)
        return report.iterations

    def test_by_name_and_by_object(self):
        plain = self.iterations()
        amg = echelon.Solver("amg").setup(self.A)
        jacobi = 1 / self.A.diagonal()
        for name, options in {"name": dict(preconditioner="amg"), "options": dict(preconditioner=dict(method="ic0")),
                              "solver": dict(M=amg), "operator": dict(M=sla.aslinearoperator(amg))}.items():
            with self.subTest(name):
                self.assertLess(self.iterations(**options), plain)
        for name, M in {"callable": lambda r: jacobi * r, "matrix": sp.diags(jacobi).tocsr(), "array": np.diag(jacobi)}.items():
            with self.subTest(name):
                self.assertLessEqual(self.iterations(M=M), plain)

    def test_preconditions_scipy(self):
        for method in ("amg", "ic0", "sparse-cholesky", "jacobi"):
            with self.subTest(method):
                M = echelon.Solver(method).setup(self.A)
                self.assertEqual(M.shape, self.A.shape)
                x, info = sla.cg(self.A, self.b, M=M, maxiter=400)
                self.assertEqual(info, 0)
        np.testing.assert_allclose(M @ self.b, M.apply(self.b))

    def test_apply(self):
        A = unsymmetric()
        R = known_solution(40, 3)
        solver = echelon.factor(A, method="sparse-lu")
        for r in (R, np.asfortranarray(R), R[:, 0], R[::-1]):
            np.testing.assert_allclose(A @ solver.apply(r), r, rtol=1e-9)
            np.testing.assert_allclose(A.T @ solver.rmatvec(r), r, rtol=1e-9)
        out = np.zeros(40)
        self.assertIs(solver.apply(R[:, 0], out=out), out)
        np.testing.assert_allclose(A @ out, R[:, 0], rtol=1e-9)
        gmres = echelon.Solver("gmres").setup(A)
        np.testing.assert_allclose(A @ gmres.apply(R[:, 0]), R[:, 0], rtol=1e-6)
        with self.assertRaises(echelon.DimensionMismatch):
            solver.apply(np.ones(3))

    def test_set_up_again_after_application(self):
        A = unsymmetric()
        r = known_solution(40)
        solver = echelon.factor(A, method="sparse-lu")
        solver.apply(r)
        solver.update(A * 2)
        np.testing.assert_allclose(2 * A @ solver.apply(r), r, rtol=1e-9)

    def test_methods_without_preconditioner(self):
        with self.assertRaises(echelon.Error):
            echelon.solve(self.A, self.b, method="sparse-lu", M=np.eye(900))


class Callbacks(unittest.TestCase):
    def test_progress(self):
        seen = []
        x, report = echelon.solve(poisson(), np.ones(144), method="cg", callback=seen.append, return_report=True)
        self.assertEqual([p.method for p in seen], ["cg"] * len(seen))
        self.assertEqual(seen[-1].iteration, report.iterations)
        self.assertGreater(seen[0].relative_residual, seen[-1].relative_residual)

    def test_iterate(self):
        """The x of each iteration is that of a solve that ends there."""
        A, b = poisson(), np.ones(144)
        for method in ("cg", "minres", "bicgstab", "gmres"):
            iterates, kept = {}, []

            def callback(progress):
                kept.append(progress)
                if progress.phase == "solve":
                    iterates[progress.iteration] = progress.iterate()
                else:
                    with self.assertRaisesRegex(echelon.Error, "set-up"):
                        progress.iterate()
            echelon.solve(A, b, method=method, callback=callback)
            for count in (12, 15):
                x = echelon.solve(A, b, method=method, maxiter=count, check="ignore")
                np.testing.assert_array_equal(iterates[count], x, method)
            with self.assertRaisesRegex(echelon.Error, "while the callback runs"):
                kept[-1].iterate()

    def test_true_stops(self):
        A, b = poisson(30), np.ones(900)
        with self.assertRaises(echelon.Cancelled) as raised:
            echelon.solve(A, b, method="cg", callback=lambda p: p.iteration >= 3)
        self.assertEqual(raised.exception.report.iterations, 3)
        solver = echelon.Solver("cg").setup(A)
        with self.assertRaises(echelon.Cancelled):
            solver.solve(b, callback=lambda p: True)
        solver.solve(b)

    def test_exceptions_pass_unchanged(self):
        class Mine(BaseException):
            pass
        mine = Mine("x")

        def fail(*_):
            raise mine
        A, b = poisson(), np.ones(144)
        operator = sla.LinearOperator(A.shape, matvec=fail, dtype=np.float64)
        for method in ("cg", "cr", "minres", "gmres", "bicgstab"):
            solver = echelon.Solver(method).setup(A)
            for call in (lambda: echelon.solve(A, b, method=method, callback=fail), lambda: solver.solve(b, callback=fail),
                         lambda: echelon.solve(operator, b, method=method), lambda: echelon.solve(A, b, method=method, M=fail)):
                with self.subTest(method), self.assertRaises(Mine) as raised:
                    call()
                self.assertIs(raised.exception, mine)
            np.testing.assert_allclose(A @ solver.solve(b), b, rtol=1e-5)
        with self.assertRaises(Mine):
            echelon.solve(operator, b)

    def test_solver_in_operator(self):
        A, b = poisson(), np.ones(144)
        inner = echelon.factor(A)
        operator = sla.LinearOperator(A.shape, matvec=lambda x: A @ (A @ inner.solve(x)), dtype=np.float64)
        np.testing.assert_allclose(A @ echelon.solve(operator, b, method="cg"), b, rtol=1e-5)


class Reports(unittest.TestCase):
    def setUp(self):
        self.x, self.report = echelon.solve(poisson(), np.ones(144), method="cg", preconditioner="ic0", return_report=True)

    def test_fields(self):
        report = self.report
        self.assertTrue(report)
        for name in dir(report):
            if not name.startswith("_"):
                getattr(report, name)
        self.assertEqual(len(report.history), report.iterations + 1)
        self.assertEqual(report.status, "converged")
        self.assertEqual(report.columns[0]["status"], "converged")
        with self.assertRaises(AttributeError):
            report.residual
        A, b = poisson(), np.ones(144)
        self.assertAlmostEqual(report.residual_norm, np.linalg.norm(b - A @ self.x), delta=1e-12)

    def test_forms(self):
        self.assertTrue(str(self.report).startswith("Solved: cg"))
        self.assertIn("iterations=", repr(self.report))
        self.assertEqual(self.report.to_dict(), json.loads(self.report.to_json()))
        self.assertEqual(self.report.to_dict()["iterations"], self.report.iterations)

    def test_page(self):
        page = self.report.to_html()
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        self.assertIn("<polyline", page)
        self.assertNotIn("Sparsity pattern", page)
        self.assertIn(html.escape(page), self.report._repr_html_())
        self.assertNotIn("<svg", echelon.solve(np.eye(2), np.ones(2), return_report=True).report.to_html())
        page = self.report.to_html(poisson(), title="a < b", command="python3 run.py")
        for text in ["<h1>a &lt; b</h1>", "Sparsity pattern", "<code>python3 run.py</code>"]:
            self.assertIn(text, page)
        with self.assertRaises(echelon.Error):
            self.report.to_html(sla.aslinearoperator(poisson()))

    def test_pickle(self):
        for _ in range(2):
            restored = pickle.loads(pickle.dumps(self.report))
            self.assertEqual(str(restored), str(self.report))
            self.assertEqual(restored.to_json(), self.report.to_json())
            np.testing.assert_array_equal(restored.history, self.report.history)
            self.report = restored

    def test_logging(self):
        with self.assertLogs("echelon", logging.INFO) as logs:
            echelon.factor(np.eye(2)).solve(np.ones(2))
        self.assertEqual(len(logs.records), 2)
        self.assertIn("direct", logs.output[1])


class Copies(unittest.TestCase):
    def test_pickle_and_copy(self):
        A = poisson()
        b = known_solution(144)
        for solver in (echelon.factor(A), echelon.Solver("cg", rtol=1e-10, preconditioner=dict(method="ic0")).setup(A),
                       echelon.factor(A.astype(np.float32)), echelon.factor(A.toarray()),
                       echelon.factor(echelon.symmetric(sp.tril(A).tocsr()))):
            for twin in (pickle.loads(pickle.dumps(solver)), copy.copy(solver), copy.deepcopy(solver)):
                self.assertEqual(twin.shape, (144, 144))
                self.assertEqual(twin.dtype, solver.dtype)
                np.testing.assert_allclose(A @ twin.solve(b.astype(twin.dtype)), b, rtol=1e-3)
                twin.update(A.astype(twin.dtype) if twin._A is not None and sp.issparse(twin._A) else A)
        fresh = pickle.loads(pickle.dumps(echelon.Solver("cg")))
        with self.assertRaises(echelon.Error):
            fresh.solve(b)

    def test_description(self):
        solver = echelon.Solver("cg", preconditioner="amg")
        self.assertIn("not set up", repr(solver))
        solver.setup(poisson())
        self.assertIn("144 x 144", repr(solver))
        self.assertIn("amg", solver.describe())
        self.assertGreater(solver.nbytes, 0)
        self.assertEqual(solver.device, "openmp")
