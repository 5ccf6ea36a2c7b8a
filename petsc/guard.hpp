// SPDX-License-Identifier: BSD-3-Clause
/// PETSc's error codes for exceptions of the library.
#pragma once

#include <echelon/error.hpp>

#include <petscsys.h>

#include <exception>
#include <new>

namespace echelon::petsc {

/// The error code 0, by which functions of PETSc report success.
inline constexpr PetscErrorCode success{};

/// PETSc's error code for an exception.
inline PetscErrorCode error_code(const std::exception& error) {
  if (dynamic_cast<const BadOption*>(&error) != nullptr) return PETSC_ERR_USER_INPUT;
  if (dynamic_cast<const DimensionMismatch*>(&error) != nullptr) return PETSC_ERR_ARG_SIZ;
  if (dynamic_cast<const InvalidMatrix*>(&error) != nullptr) return PETSC_ERR_ARG_WRONGSTATE;
  if (dynamic_cast<const OutOfMemory*>(&error) != nullptr) return PETSC_ERR_MEM;
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return PETSC_ERR_MEM;
  return PETSC_ERR_LIB;
}

/// Calls f(), which returns a PETSc error code, and raises exceptions as PETSc errors: PETSc's functions are
/// written in C, and no exception may cross them.
template <class F>
PetscErrorCode guarded(MPI_Comm comm, const char* function, F&& f) {
  try {
    return f();
  } catch (const std::exception& error) {
    return PetscError(comm, __LINE__, function, __FILE__, error_code(error), PETSC_ERROR_INITIAL, "%s",
                      error.what());
  }
}

}  // namespace echelon::petsc
