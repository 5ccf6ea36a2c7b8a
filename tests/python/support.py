# SPDX-License-Identifier: BSD-3-Clause
"""Systems with known solutions, and how near to them an answer has to be."""
import numpy as np
import scipy.sparse as sp


def poisson(n=12, dtype=np.float64):
    """Five-point Laplacian of n by n points: symmetric positive definite, int32 indices, sorted."""
    T = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    return (sp.kron(T, sp.eye(n)) + sp.kron(sp.eye(n), T)).tocsr().astype(dtype)


def unsymmetric(n=40, dtype=np.float64, seed=1):
    """Random sparse matrix with a dominant diagonal."""
    random = np.random.default_rng(seed)
    A = sp.random(n, n, density=0.15, random_state=seed, format="csr")
    A.data = random.uniform(-1, 1, A.nnz)
    return sp.csr_matrix(A + sp.diags(np.full(n, 6.0))).astype(dtype)


def known_solution(n, columns=None, dtype=np.float64):
    x = np.cos(np.arange(n if columns is None else n * columns, dtype=np.float64)) + 2.0
    return (x if columns is None else x.reshape(n, columns)).astype(dtype)


def tolerance(dtype):
    return 2e-4 if np.dtype(dtype) == np.float32 else 1e-7
