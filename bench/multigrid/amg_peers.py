#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Iterations of PyAMG's solvers and those of Echelon's amg on the same matrices.

    amg_peers.py [--echelon PROGRAM] [--rows N] [PROBLEM]...

Needs NumPy, SciPy and PyAMG (pip install pyamg). PROBLEM is a generator of `echelon generate`, with options after
colons (spe10-like:boundary=open). Prints a Markdown table: for conjugate gradients to a relative residual of 1e-8,
b = A v for a random v, the iterations and, in brackets, the operator complexity. PyAMG has its defaults, among
them a symmetric Gauss-Seidel smoother; elasticity has rigid-body modes with both.
"""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pyamg
import scipy.io
import scipy.sparse.linalg

PROBLEMS = ["poisson-2d", "poisson-3d", "anisotropic-2d", "jumps-2d", "jumps-3d", "spe10-like:boundary=open",
            "elasticity-2d"]
SYSTEMS = {"elasticity-2d"}


def rigid_body_modes(xyz):
    xyz = xyz - xyz.mean(axis=0)
    modes = np.zeros((2 * len(xyz), 3))
    modes[0::2, 0] = 1
    modes[1::2, 1] = 1
    modes[0::2, 2] = -xyz[:, 1]
    modes[1::2, 2] = xyz[:, 0]
    return modes


def pyamg_iterations(make, A, b):
    levels = make(A)
    iterations = 0

    def count(_):
        nonlocal iterations
        iterations += 1

    x, failed = scipy.sparse.linalg.cg(A, b, rtol=1e-8, maxiter=500, M=levels.aspreconditioner(), callback=count)
    reached = not failed and np.linalg.norm(b - A @ x) <= 1.1e-8 * np.linalg.norm(b)
    return f"{iterations if reached else 'no convergence'} ({levels.operator_complexity():.2f})"


def echelon_iterations(program, matrix, rhs, options):
    command = [program, "solve", matrix, "--rhs", rhs, "--method", "cg", "-p", "preconditioner=amg", "--device",
               "serial", "--json", "--quiet", *options]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    statistics = report["statistics"]
    complexity = statistics["preconditioner.operator_complexity"]
    iterations = report["iterations"] if report["status"] == "converged" else report["status"]
    return f"{iterations} ({complexity:.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--echelon", default="echelon")
    parser.add_argument("--rows", type=int, default=64000)
    parser.add_argument("problems", nargs="*", default=PROBLEMS)
    arguments = parser.parse_args()
    print("| problem | rows | amg | smoothed-aggregation | classical | PyAMG smoothed aggregation | PyAMG Ruge-Stüben |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for problem in arguments.problems:
        name, *settings = problem.split(":")
        with tempfile.TemporaryDirectory() as folder:
            matrix, rhs, coordinates = (str(Path(folder) / file) for file in ("A.mtx", "b.mtx", "xyz.mtx"))
            command = [arguments.echelon, "generate", name, "--rows", str(arguments.rows), "-o", matrix, "--quiet"]
            for setting in settings:
                command += ["-p", setting]
            if name in SYSTEMS:
                command += ["--coordinates", coordinates]
            subprocess.run(command, check=True, capture_output=True)
            A = scipy.io.mmread(matrix).tocsr()
            b = A @ np.random.default_rng(1).uniform(-1, 1, A.shape[0])
            scipy.io.mmwrite(rhs, b.reshape(-1, 1))
            modes = rigid_body_modes(scipy.io.mmread(coordinates)) if name in SYSTEMS else None
            given = ["--coordinates", coordinates] if name in SYSTEMS else []

            def ours(coarsening, extra):
                return echelon_iterations(arguments.echelon, matrix, rhs,
                                          ["-p", f"preconditioner.coarsening={coarsening}", *extra])

            blocks = A.tobsr(blocksize=(2, 2)) if name in SYSTEMS else A
            row = [problem, f"{A.shape[0]:,}", ours("auto", given), ours("smoothed-aggregation", given),
                   ours("classical", []),
                   pyamg_iterations(lambda M: pyamg.smoothed_aggregation_solver(M, B=modes), blocks, b),
                   pyamg_iterations(pyamg.ruge_stuben_solver, A, b)]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
