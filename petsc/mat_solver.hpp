// SPDX-License-Identifier: BSD-3-Clause
/// The matrix solver package "echelon".
#pragma once

#include <petscsys.h>

namespace echelon::petsc {

/// Registers the package with PETSc.
PetscErrorCode register_mat_solver();

}  // namespace echelon::petsc
