// SPDX-License-Identifier: BSD-3-Clause
#include "echelon_petsc.h"
#include "guard.hpp"
#include "mat_solver.hpp"
#include "node_share.hpp"
#include "preconditioner.hpp"

namespace {

/// Whether the current initialisation of PETSc knows the plug-in.
bool registered = false;

PetscErrorCode forget_registration() {
  registered = false;
  return echelon::petsc::success;
}

}  // namespace

PetscErrorCode EchelonPetscRegister() {
  if (registered) return echelon::petsc::success;
  PetscCall(echelon::petsc::divide_nodes(PETSC_COMM_WORLD));
  PetscCall(echelon::petsc::register_mat_solver());
  PetscCall(echelon::petsc::register_preconditioner());
  registered = true;
  return PetscRegisterFinalize(forget_registration);
}

/// Entry of a library that PETSc loads by -dll_append; its name is made of the library's.
// NOLINTNEXTLINE(readability-identifier-naming)
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_echelon_petsc() {
  return EchelonPetscRegister();
}
