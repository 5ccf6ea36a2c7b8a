# SPDX-License-Identifier: BSD-3-Clause
"""Packages with an OpenMP or a BLAS of their own in the same process, imported before and after."""
import importlib.util
import subprocess
import sys
import unittest

PROGRAM = """
import sys
for name in sys.argv[1:]:
    __import__(name)
import numpy as np, echelon
A = echelon.generate("poisson-2d", nx=60, ny=60)
b = A @ np.ones(3600)
for method in ("sparse-cholesky", "cg", "sparse-lu"):
    x = echelon.solve(A, b, method=method, device="openmp:2")
    assert abs(x - 1).max() < 1e-5, method
D = np.random.default_rng(1).uniform(-1, 1, (200, 200))
assert abs(echelon.solve(D, D @ np.ones(200), method="lu", device="openmp:2") - 1).max() < 1e-8
if "sklearn" in sys.argv:
    from sklearn.cluster import KMeans
    assert len(KMeans(3, n_init=2, random_state=1).fit(D).labels_) == 200
if "torch" in sys.argv:
    import torch
    assert torch.allclose(torch.from_numpy(D) @ torch.ones(200, dtype=torch.float64), torch.from_numpy(D @ np.ones(200)))
assert abs(echelon.solve(A, b) - 1).max() < 1e-5
"""


class Neighbours(unittest.TestCase):
    def run_with(self, *names):
        done = subprocess.run([sys.executable, "-c", PROGRAM, *names], capture_output=True, text=True, timeout=250)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_imported_before_and_after(self):
        for package in ("sklearn", "torch"):
            if importlib.util.find_spec(package) is None:
                continue
            with self.subTest(package):
                self.run_with(package, "echelon")
                self.run_with("echelon", package)

    def test_alone(self):
        self.run_with("echelon")


if __name__ == "__main__":
    unittest.main()
