/* SPDX-License-Identifier: BSD-3-Clause */
/* Echelon's solvers under PETSc: sparse and dense factorisations as the matrix solver package "echelon"
   (-pc_factor_mat_solver_type echelon), and every method of Echelon as the preconditioner "echelon"
   (-pc_type echelon). See docs/distributed.md. */
#ifndef ECHELON_PETSC_H
#define ECHELON_PETSC_H

#include <petscpc.h>

#define MATSOLVERECHELON "echelon"
#define PCECHELON "echelon"

/* Makes both known to PETSc; collective on PETSC_COMM_WORLD, after PetscInitialize(). Further calls do
   nothing. A program that is not compiled with this header loads the library with -dll_append
   libechelon_petsc.so. */
PETSC_EXTERN PetscErrorCode EchelonPetscRegister(void); /* NOLINT(readability-identifier-naming) */

#endif
