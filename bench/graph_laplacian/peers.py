#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""peers.py FILE.bin...: the packages approx-chol and apxchol (pip install numpy scipy approx-chol apxchol) on systems
that bench_laplacians --write stores: processor time of one core in microseconds for each edge, best of two runs, to a
relative residual of 1e-8. approx-chol has no solver of its own: the loop of conjugate gradients around it is NumPy's."""
import os
import sys
import time

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np
import scipy.sparse as sparse


def read(path):
    with open(path, "rb") as file:
        rows, nonzeros = np.fromfile(file, np.int64, 2)
        offsets = np.fromfile(file, np.int32, rows + 1)
        columns = np.fromfile(file, np.int32, nonzeros)
        values = np.fromfile(file, np.float64, nonzeros)
        return sparse.csr_matrix((values, columns, offsets), (rows, rows)), np.fromfile(file, np.float64, rows)


def conjugate_gradients(A, b, precondition, rtol, most=2000):
    x = np.zeros_like(b)
    r = b.copy()
    z = precondition(r)
    p = z.copy()
    rho = r @ z
    for k in range(1, most + 1):
        q = A @ p
        alpha = rho / (p @ q)
        x += alpha * p
        r -= alpha * q
        if np.linalg.norm(r) <= rtol * np.linalg.norm(b):
            break
        z = precondition(r)
        rho, before = r @ z, rho
        p = z + (rho / before) * p
    return x, k


def approx_chol(split):
    def prepare(A):
        import approx_chol
        factor = approx_chol.factorize(sparse.csr_array(A), approx_chol.Config(seed=1, split=split))
        return lambda b: conjugate_gradients(A, b, factor.solve, 9e-9)
    return prepare


def apxchol(A):
    import apxchol
    factor = apxchol.factorize(A, keep_factor=False)

    def solve(b):
        result = factor.solve(b, rtol=9e-9, maxiter=1000)
        return result.x, result.iters
    return solve


def jacobi(A):
    diagonal = A.diagonal()
    inverse = 1 / np.where(diagonal > 0, diagonal, 1)
    return lambda b: conjugate_gradients(A, b, lambda r: inverse * r, 9e-9)


PEERS = {"approx-chol": approx_chol(None), "approx-chol split 2": approx_chol(2), "apxchol": apxchol, "Jacobi-CG, NumPy": jacobi}

for path in sys.argv[1:]:
    A, b = read(path)
    edges = (A.nnz - A.shape[0]) / 2
    name = os.path.basename(path)[:-4]
    for peer, prepare in PEERS.items():
        best = (1e30, 1e30)
        status, count = "converged", 0
        try:
            for _ in range(2):
                start = time.process_time()
                solve = prepare(A)
                middle = time.process_time()
                x, count = solve(b)
                end = time.process_time()
                best = min(best, (middle - start, end - middle), key=sum)
            residual = np.linalg.norm(b - A @ x) / np.linalg.norm(b)
            if not residual <= 1.1e-8:
                status = f"residual {residual:.1e}"
        except Exception as error:  # noqa: BLE001 a peer that fails is a row of the table
            status = f"fails: {str(error)[:60]}"
        setup, solved = (1e6 * t / edges for t in best)
        print(f"| {name} | {edges:.0f} | {peer} | {setup:.3f} | {solved:.3f} | {setup + solved:.3f} | {count} | {status} |", flush=True)
