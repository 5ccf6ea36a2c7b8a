#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""PCBDDC with the factorisations of Echelon, MUMPS and PETSc: iterations, set-up and solve.

Usage: bddc.py BUILD_FOLDER RANKS,... RUNS PROBLEM:CELLS...     PROBLEM is poisson or elasticity

The packages take turns in every round; the table has medians of the rounds, and ratios to Echelon.
"""
import os
import re
import statistics
import subprocess
import sys

build, ranks, runs, *problems = sys.argv[1:]
PACKAGES = ["echelon", "mumps", "petsc"]
PLACES = ["dirichlet", "neumann", "coarse_redundant"]


def measure(package, processes, problem, cells):
    command = ["mpirun", "-n", processes, f"{build}/bin/petsc_elements", f"-{problem}", "-cells", cells, "-ksp_type", "cg",
               "-pc_type", "bddc", "-pc_bddc_use_faces", "-dll_append", f"{build}/petsc/libechelon_petsc.so"]
    for place in PLACES:
        command += [f"-pc_bddc_{place}_pc_type", "cholesky", f"-pc_bddc_{place}_pc_factor_mat_solver_type", package]
    environment = {**os.environ, "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
                   "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_WAIT_POLICY": "passive"}
    output = subprocess.run(command, env=environment, capture_output=True, text=True).stdout
    found = re.search(r"CONVERGED_\w+, iterations (\d+).*set-up ([\d.]+) s, solve ([\d.]+) s", output)
    if found is None:
        sys.exit(f"{' '.join(command)} failed:\n{output}")
    return int(found[1]), float(found[2]), float(found[3])


print("| problem | ranks | package | iterations | set-up s | solve s | set-up + solve / Echelon's |")
print("| --- | ---: | --- | ---: | ---: | ---: | ---: |")
for name in problems:
    problem, cells = name.split(":")
    for processes in ranks.split(","):
        rounds = [[measure(package, processes, problem, cells) for package in PACKAGES] for _ in range(int(runs))]
        for k, package in enumerate(PACKAGES):
            iterations = {run[k][0] for run in rounds}
            setup, solve = (statistics.median(run[k][part] for run in rounds) for part in (1, 2))
            ratio = statistics.median((run[k][1] + run[k][2]) / (run[0][1] + run[0][2]) for run in rounds)
            counts = "/".join(str(count) for count in sorted(iterations))
            print(f"| {problem} {cells}³ | {processes} | {package} | {counts} | {setup:.2f} | {solve:.2f} | {ratio:.2f} |",
                  flush=True)
