// SPDX-License-Identifier: BSD-3-Clause
/// The preconditioner "echelon".
#pragma once

#include <petscsys.h>

namespace echelon::petsc {

/// Registers the preconditioner with PETSc.
PetscErrorCode register_preconditioner();

}  // namespace echelon::petsc
