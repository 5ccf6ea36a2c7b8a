# SPDX-License-Identifier: BSD-3-Clause
"""Complex systems."""
import os
import pickle
import tempfile
import unittest

import numpy as np
import scipy.sparse as sp

import echelon


def random_matrix(n, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, (n, n)) + 1j * random.uniform(-1, 1, (n, n))


def random_vector(n, seed=1):
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, n) + 1j * random.uniform(-1, 1, n)


class ComplexSystems(unittest.TestCase):
    def test_dense(self):
        A, b = random_matrix(40), random_vector(40)
        for matrix in (A, np.asfortranarray(A), A[:, ::-1]):
            x, report = echelon.solve(matrix, b, return_report=True)
            self.assertEqual(x.dtype, np.complex128)
            np.testing.assert_allclose(x, np.linalg.solve(matrix, b), rtol=1e-10, atol=1e-12)
            self.assertLess(report.backward_error, 1e-14)

    def test_sparse(self):
        A = sp.random(300, 300, 0.01, random_state=2) * (1 + 2j) + sp.eye(300) * (3 - 1j)
        b = random_vector(300)
        for matrix in (sp.csr_array(A), sp.csc_array(A), sp.coo_array(A)):
            x, report = echelon.solve(matrix, b, return_report=True)
            self.assertIn("sparse-lu", report.method)
            np.testing.assert_allclose(matrix @ x, b, atol=1e-12)

    def test_complex64_is_computed_in_complex128(self):
        A, b = (random_matrix(40, 8) + 40 * np.eye(40)).astype(np.complex64), random_vector(40).astype(np.complex64)
        exact = np.linalg.solve(A.astype(complex), b.astype(complex))
        for matrix in (A, np.asfortranarray(A), sp.csr_array(A), sp.csc_array(A), sp.linalg.aslinearoperator(sp.csr_array(A))):
            for method in ("auto", "gmres") if hasattr(matrix, "matvec") else ("auto", "lu", "gmres"):
                with self.subTest(type(matrix).__name__ + ", " + method):
                    x = echelon.solve(matrix, b, method=method, rtol=1e-12)
                    self.assertEqual(x.dtype, np.complex64)
                    np.testing.assert_array_max_ulp(x.view(np.float32), exact.astype(np.complex64).view(np.float32), 2)
        self.assertEqual(echelon.solve(A, b.real.astype(np.float32)).dtype, np.complex64)
        self.assertEqual(echelon.solve(A.real, b).dtype, np.complex64)
        self.assertEqual(echelon.solve(A, b.astype(complex)).dtype, np.complex128)
        self.assertEqual(echelon.solve(A, b.real.astype(float)).dtype, np.complex128)
        self.assertEqual(echelon.solve(A.astype(complex), b).dtype, np.complex128)
        F = echelon.factor(A)
        for trans, matrix in (("N", A), ("T", A.T), ("H", A.conj().T)):
            x = F.solve(b, trans=trans)
            self.assertEqual(x.dtype, np.complex64)
            np.testing.assert_allclose(matrix @ x, b, atol=1e-4)
        self.assertEqual(F.solve(np.stack([b, b], axis=1)).dtype, np.complex64)
        self.assertEqual(F.solve(b.astype(complex)).dtype, np.complex128)
        self.assertEqual(pickle.loads(pickle.dumps(F)).solve(b).dtype, np.complex64)
        out = np.empty(40, complex)
        self.assertIs(F.solve(b, out=out), out)
        with self.assertRaisesRegex(TypeError, "complex"):
            echelon.factor(A.real).solve(b)

    def test_exceptional_values_in_one_part(self):
        H = random_matrix(12, 9)
        H = H + H.conj().T + 60 * np.eye(12)
        for value in (complex(np.nan, 1), complex(1, np.nan), complex(np.inf, 1), complex(1, -np.inf)):
            broken, b = H.copy(), random_vector(12)
            broken[3, 5] = value
            b[7] = value
            for method in ("auto", "lu", "qr", "cg", "gmres", "sparse-ldlt", "amg"):
                matrix = sp.csr_array(broken) if method in ("sparse-ldlt", "amg") else broken
                with self.subTest(f"{method} {value}"):
                    with self.assertRaises(echelon.NotANumber):
                        echelon.solve(matrix, random_vector(12), method=method)
                    with self.assertRaises(echelon.NotANumber):
                        echelon.solve(sp.csr_array(H), b, method=method)

    def test_multigrid(self):
        n = 40
        line = sp.diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1])
        laplacian = sp.kron(line, sp.eye(n)) + sp.kron(sp.eye(n), line)
        A = sp.csr_matrix(laplacian - 0.1 * (1 + 0.5j) * sp.eye(n * n))
        b = random_vector(n * n)
        for method in ("gmres", "bicgstab", "cocg"):
            x, report = echelon.solve(A, b, method=method, preconditioner="amg", return_report=True)
            self.assertLess(np.linalg.norm(A @ x - b), 1e-7 * np.linalg.norm(b))
            self.assertLess(report.iterations, 30)
        H = sp.csr_matrix(laplacian.astype(complex))
        H.data = H.data * np.exp(0.001j * (sp.coo_matrix(H).row - sp.coo_matrix(H).col))
        x, report = echelon.solve(H, b, method="cg", preconditioner="amg", return_report=True)
        self.assertLess(np.linalg.norm(H @ x - b), 1e-7 * np.linalg.norm(b))
        self.assertLess(report.iterations, 40)

    def test_a_complex_right_hand_side_of_a_real_matrix(self):
        A = sp.csr_array(sp.diags([np.full(49, -1.0), np.full(50, 4.0), np.full(49, -1.0)], [-1, 0, 1]))
        b = random_vector(50)
        np.testing.assert_allclose(A @ echelon.solve(A, b), b, atol=1e-14)
        np.testing.assert_allclose(A @ echelon.solve(A.astype(complex), b.real), b.real, atol=1e-14)

    def test_several_right_hand_sides_and_operations(self):
        A = sp.csc_array(random_matrix(30, 3))
        B = np.column_stack([random_vector(30, seed) for seed in range(5)])
        solver = echelon.factor(A)
        for trans, matrix in (("N", A), ("T", A.T), ("H", A.conj().T)):
            with self.subTest(trans):
                np.testing.assert_allclose(matrix @ solver.solve(B, trans=trans), B, atol=1e-11)

    def test_methods_and_preconditioners(self):
        A = random_matrix(60, 4) + 60 * np.eye(60)
        b = random_vector(60)
        for method in ("gmres", "bicgstab"):
            for M in (None, lambda r: r / np.diag(A)):
                x = echelon.solve(A, b, method=method, M=M, rtol=1e-12)
                np.testing.assert_allclose(A @ x, b, atol=1e-9)
        H = A + A.conj().T
        np.testing.assert_allclose(H @ echelon.solve(H, b, method="cg", rtol=1e-12), b, atol=1e-9)
        with self.assertRaisesRegex(echelon.NotBuilt, "real matrices"):
            echelon.solve(A, b, method="lamg")
        for method in ("cholesky", "sparse-cholesky", "sparse-ldlt"):
            np.testing.assert_allclose(H @ echelon.solve(H, b, method=method), b, atol=1e-11)
        for method in ("gauss-seidel", "ssor"):
            np.testing.assert_allclose(H @ echelon.solve(H, b, method=method, rtol=1e-12), b, atol=1e-9)
        for M in ("ilu0", "ic0", "ssor"):
            x = echelon.solve(sp.csr_array(H), b, method="cg" if M != "ilu0" else "gmres", preconditioner=M, rtol=1e-12)
            np.testing.assert_allclose(H @ x, b, atol=1e-9)

    def test_inertia_of_a_hermitian_matrix(self):
        A = random_matrix(50, 6)
        A += A.conj().T
        negative = int(np.sum(np.linalg.eigvalsh(A) < 0))
        found = echelon.factor(sp.csr_array(A), method="sparse-ldlt").inertia()
        self.assertEqual((found.negative, found.positive, found.zero), (negative, 50 - negative, 0))

    def test_eliminations(self):
        A = random_matrix(30, 7) @ np.diag(np.arange(1, 31)) @ random_matrix(30, 8)
        form = echelon.rref(A)
        self.assertEqual((form.rank, form.R.dtype), (30, np.complex128))
        np.testing.assert_allclose(form.determinant, np.linalg.det(A), rtol=1e-10)
        np.testing.assert_allclose(form.log10_determinant, np.linalg.slogdet(A)[1] / np.log(10), rtol=1e-12)
        np.testing.assert_allclose(echelon.invert(A), np.linalg.inv(A), rtol=1e-8, atol=1e-12)
        low = random_matrix(30, 9)[:, :7] @ random_matrix(30, 10)[:7, :25]
        form = echelon.rref(low)
        self.assertEqual((form.rank, form.determinant, form.null_space.shape), (7, None, (25, 18)))
        np.testing.assert_allclose(low @ form.null_space, 0, atol=1e-11)
        self.assertEqual((echelon.rank(low), echelon.rank(sp.csr_array(low)), echelon.rank(low.T)), (7, 7, 7))
        singular = random_matrix(6, 11)
        singular[:, 4] = 1j * singular[:, 1]
        self.assertEqual((echelon.rank(singular), echelon.rref(singular).determinant), (5, 0j))
        with self.assertRaises(echelon.SingularMatrix):
            echelon.invert(singular)

    def test_determinants_and_factors(self):
        G = random_matrix(25, 12)
        H = G @ G.conj().T + np.eye(25)
        S = G + G.T
        for A, methods in ((G, ("lu", "sparse-lu", "banded-lu", "gauss-jordan", "qr")),
                           (H, ("cholesky", "sparse-cholesky", "ldlt", "sparse-ldlt")), (S, ("ldlt", "sparse-ldlt"))):
            sign, logarithm = np.linalg.slogdet(A)
            for method in methods:
                with self.subTest(method):
                    solver = echelon.factor(A, method=method)
                    found = solver.slogdet()
                    np.testing.assert_allclose(found.sign, sign, rtol=1e-12)
                    np.testing.assert_allclose(found.logabsdet, logarithm, rtol=1e-12)
                    if method in ("banded-lu", "gauss-jordan", "qr"):
                        continue
                    f = solver.factors()
                    L, U = (M.toarray() if sp.issparse(M) else M for M in (f.L, f.U))
                    scaled = 2.0**f.exponent * f.row_scales[:, None] * A * f.column_scales
                    scaled = scaled[f.row_permutation][:, f.column_permutation]
                    D = np.eye(25)
                    if "ldlt" in f.form:
                        below = f.subdiagonal[:-1]
                        D = np.diag(f.diagonal) + np.diag(below, -1)
                        D = D + np.diag(below.conj() if f.form == "hermitian-ldlt" else below, 1)
                    product = L @ U if f.form == "lu" else L @ D @ (L.T if f.form == "ldlt" else L.conj().T)
                    np.testing.assert_allclose(product, scaled, atol=1e-12 * np.abs(scaled).max())

    def test_least_squares(self):
        from echelon import linalg
        tall = random_matrix(60, 13)[:, :20]
        b = random_vector(60)
        expected = np.linalg.lstsq(tall, b, rcond=None)[0]
        wide, c = tall.conj().T, random_vector(20)
        shortest = np.linalg.lstsq(wide, c, rcond=None)[0]
        for method in ("lsqr", "lsmr", "cgls", "qr", "sparse-qr"):
            np.testing.assert_allclose(echelon.solve(tall, b, method=method, rtol=1e-13), expected, rtol=1e-9)
        for method in ("lsqr", "lsmr", "cgls", "craig", "qr", "sparse-qr"):
            np.testing.assert_allclose(echelon.solve(wide, c, method=method, rtol=1e-13), shortest, rtol=1e-9)
        damped = np.linalg.lstsq(np.vstack([tall, 0.3 * np.eye(20)]), np.concatenate([b, np.zeros(20)]), rcond=None)[0]
        for function in (linalg.lsqr, linalg.lsmr):
            options = {"atol": 1e-13, "btol": 1e-13, "iter_lim" if function is linalg.lsqr else "maxiter": 500}
            for A in (tall, sp.csr_array(tall), sp.linalg.aslinearoperator(tall)):
                np.testing.assert_allclose(function(A, b, **options)[0], expected, rtol=1e-9)
            np.testing.assert_allclose(function(tall, b, damp=0.3, **options)[0], damped, rtol=1e-9)
            self.assertEqual(function(tall.astype(np.complex64), b, **options)[0].dtype, np.complex128)

    def test_scipy_signatures(self):
        from echelon import linalg
        A = sp.csc_array(sp.random(80, 80, 0.05, random_state=3) * (1 + 2j) + sp.eye(80) * (6 - 3j))
        b = random_vector(80)
        B = np.column_stack([b, 1j * b])
        np.testing.assert_allclose(A @ linalg.spsolve(A, b), b, atol=1e-12)
        np.testing.assert_allclose(A @ linalg.spsolve(A, B), B, atol=1e-12)
        np.testing.assert_allclose(A @ linalg.factorized(A)(b), b, atol=1e-12)
        lu = linalg.splu(A)
        for trans, matrix in (("N", A), ("T", A.T), ("H", A.conj().T)):
            np.testing.assert_allclose(matrix @ lu.solve(b, trans), b, atol=1e-12)
        M = sp.linalg.LinearOperator(A.shape, linalg.spilu(A).solve, dtype=complex)
        H = sp.csr_array(A + A.conj().T)
        for function, matrix, preconditioner in ((linalg.gmres, A, M), (linalg.bicgstab, A, M), (linalg.bicgstab, A, None),
                                                 (linalg.cg, H, None), (linalg.minres, H, None)):
            with self.subTest(function.__name__):
                x, info = function(matrix, b, M=preconditioner, rtol=1e-12)
                self.assertEqual((info, x.dtype), (0, np.complex128))
                np.testing.assert_allclose(matrix @ x, b, atol=1e-9)
        linalg.minres(H, b, check=True)
        with self.assertRaisesRegex(ValueError, "Hermitian"):
            linalg.minres(A, b, check=True)
        x, info = linalg.cg(sp.eye(80, format="csr") * 2.0, b)  # of a real matrix
        np.testing.assert_allclose(2 * x, b)

    def test_operator_and_first_guess(self):
        class Operator:
            shape, dtype = (20, 20), np.complex128

            def matvec(self, x):
                return (2 + 1j) * x
        b = random_vector(20)
        x = echelon.solve(Operator(), b, method="gmres", x0=b / (2 + 1j))
        np.testing.assert_allclose((2 + 1j) * x, b, atol=1e-12)

    def test_files_generators_and_properties(self):
        A = echelon.generate("helmholtz-2d", nx=6, ny=5, dtype=complex)
        found = echelon.info(A)
        self.assertTrue(found.symmetric_values and not found.hermitian_values)
        self.assertTrue(echelon.info(echelon.generate("random-hermitian", n=30, dtype=complex)).hermitian_values)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("A.mtx", "A.npz"):
                path = os.path.join(folder, name)
                echelon.write(path, A)
                self.assertEqual(abs(echelon.read(path, dtype=complex) - A).max(), 0)
                with self.assertRaisesRegex(echelon.ParseError, "complex"):
                    echelon.read(path)

    def test_singular(self):
        A = random_matrix(10, 5)
        A[7] = 2j * A[3]
        with self.assertRaises(echelon.SingularMatrix):
            echelon.factor(sp.csr_array(A))


if __name__ == "__main__":
    unittest.main()
