# SPDX-License-Identifier: BSD-3-Clause
"""compare: methods in processes of their own, with limits, to one residual."""
import json
import unittest

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from support import poisson, unsymmetric

import echelon


class Comparisons(unittest.TestCase):
    def by_name(self, comparison):
        return {result.method.split()[0]: result for result in comparison.results}

    def test_figures_of_each_method(self):
        A = poisson(30)
        comparison = echelon.compare(A, methods=["sparse-cholesky", ("cg", {"preconditioner": {"method": "amg"}}), "jacobi"],
                                     devices=["serial"], maxiter=200)
        found = self.by_name(comparison)
        self.assertEqual(list(found), ["sparse-cholesky", "cg", "jacobi"])
        for name in ("sparse-cholesky", "cg"):
            result = found[name]
            self.assertTrue(result.reached)
            self.assertLessEqual(result.relative_residual, comparison.tolerance)
            for figure in ("setup_seconds", "update_seconds", "solve_seconds", "solve_10_seconds", "backward_error",
                           "bytes", "peak_bytes", "expected_digits"):
                self.assertGreaterEqual(getattr(result, figure), 0, figure)
            self.assertAlmostEqual(result.total(100), result.setup_seconds + 10 * result.solve_10_seconds)
        self.assertGreater(found["cg"].iterations, 0)
        self.assertIn("preconditioner=amg", found["cg"].method)
        self.assertFalse(found["jacobi"].reached)
        self.assertEqual(found["jacobi"].status, "max_iterations")
        self.assertIsNone(found["jacobi"].total(1))
        for columns in (1, 10, 100):
            totals = [result.total(columns) for result in comparison.results if result.reached]
            self.assertEqual(comparison.best(columns).total(columns), min(totals))

    def test_forms_of_the_result(self):
        A = unsymmetric(50)
        comparison = echelon.compare(A, np.ones(50), methods=["lu", "cg"], devices=["serial"])
        facts = comparison.to_dict()
        self.assertEqual(facts["best"]["1"], {"method": comparison.results[0].method, "device": "serial"})
        self.assertEqual([result["reached"] for result in facts["results"]], [result.reached for result in comparison.results])
        self.assertEqual(facts, json.loads(comparison.to_json()))
        self.assertIn("Fastest", str(comparison))
        self.assertIn("total for 1", str(comparison))
        page = comparison.to_html()
        self.assertIn("<h1>50 x 50</h1>", page)
        self.assertIn("iframe", comparison._repr_html_())
        self.assertIn("fastest lu", repr(comparison))

    def test_default_methods_are_those_of_choose(self):
        A = poisson(20)
        comparison = echelon.compare(A, devices=["serial"])
        self.assertEqual([result.method.split()[0] for result in comparison.results],
                         [candidate.method for candidate in echelon.choose(A, device="serial")])
        self.assertIsNotNone(comparison.best())

    def test_limits_end_a_method_alone(self):
        A = poisson(300)
        comparison = echelon.compare(A, methods=["jacobi", "sparse-cholesky"], devices=["serial"], limit=8, maxiter=10**9, rtol=1e-12)
        slow, fast = comparison.results
        self.assertEqual((slow.status, slow.reached), ("stopped", False))
        self.assertIn("not done after 8 s", slow.message)
        self.assertIsNotNone(slow.setup_seconds)
        self.assertNotEqual(fast.status, "stopped")
        starved = echelon.compare(A, methods=["sparse-cholesky"], devices=["serial"], memory=1000).results[0]
        self.assertEqual(starved.status, "failed")
        self.assertIn("too little", starved.message)

    def test_singular_system(self):
        comparison = echelon.compare(np.diag([1.0, 0.0]), np.ones(2), methods=["lu"], devices=["serial"])
        self.assertIsNone(comparison.best())
        self.assertFalse(comparison.results[0].reached)
        self.assertIn("No method", str(comparison))

    def test_float_and_symmetric_triangles(self):
        A = poisson(10).astype(np.float32)
        result = echelon.compare(echelon.symmetric(sp.tril(A, format="csr")), methods=["sparse-cholesky"], devices=["serial"])
        self.assertEqual(result.tolerance, 1e-5)
        self.assertTrue(result.results[0].reached)

    def test_solvers_of_the_caller(self):
        A = poisson(20).tocsc()
        comparison = echelon.compare(A, methods=["sparse-lu"], devices=["serial"], extra={
            "scipy splu": lambda A, b: spla.splu(A).solve(b), "wrong": lambda A, b: b, "broken": lambda A, b: 1 / 0})
        found = {result.method: result for result in comparison.results[1:]}
        self.assertTrue(found["scipy splu"].reached)
        self.assertIn("residual", found["wrong"].message)
        self.assertEqual((found["broken"].status, found["broken"].message), ("failed", "ZeroDivisionError: division by zero"))

    def test_misuse(self):
        A = poisson(5)
        with self.assertRaisesRegex(echelon.BadOption, "did you mean|there is no"):
            echelon.compare(A, methods=["sparse-cholesk"])
        with self.assertRaises(echelon.BadOption):
            echelon.compare(A, methods=[("cg", {"preconditione": "amg"})])
        with self.assertRaisesRegex(echelon.DimensionMismatch, "square"):
            echelon.compare(A[:3])
        with self.assertRaisesRegex(echelon.DimensionMismatch, "one right-hand side"):
            echelon.compare(A, np.ones((25, 2)))
        with self.assertRaisesRegex(echelon.Error, "operator"):
            echelon.compare(spla.aslinearoperator(A))
        with self.assertRaises(echelon.BadOption):
            echelon.compare(A, limit=0)
        with self.assertRaises(TypeError):
            echelon.compare(A * 1j)


if __name__ == "__main__":
    unittest.main()
