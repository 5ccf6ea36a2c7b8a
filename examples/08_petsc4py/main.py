#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Factors a matrix and solves with Echelon from petsc4py; the plug-in is loaded by its path or, once it is where the
loader looks for libraries, by its name:

    main.py -dll_append libechelon_petsc.so [options of PETSc, such as -ksp_view]
"""
import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402  (PETSc reads its options when it is imported)

size = 30
grid = PETSc.DMDA().create([size, size], stencil_width=1)
A = grid.createMatrix()
begin, end = A.getOwnershipRange()
for row in range(begin, end):
    x, y = row % size, row // size
    A.setValue(row, row, 4.5)
    for column, inside in [(row - 1, x > 0), (row + 1, x < size - 1), (row - size, y > 0), (row + size, y < size - 1)]:
        if inside:
            A.setValue(row, column, -1.0)
A.assemble()

u = A.createVecRight()
u.setArray([1 + 0.1 * (row % 7) for row in range(begin, end)])
b = A * u
x = A.createVecRight()

ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType("preonly")
ksp.getPC().setType("lu")
ksp.getPC().setFactorSolverType("echelon")
ksp.setFromOptions()
ksp.solve(b, x)
PETSc.Sys.Print(f"reason {ksp.getConvergedReason()}, error {(x - u).norm() / u.norm():.1e}")
sys.exit(0 if ksp.getConvergedReason() > 0 and (x - u).norm() < 1e-8 * u.norm() else 1)
