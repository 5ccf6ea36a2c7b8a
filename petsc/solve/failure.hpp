// SPDX-License-Identifier: BSD-3-Clause
/// Failure of one process, which ends all.
#pragma once

#include <petscsys.h>

#include <exception>
#include <string>

namespace echelon::petsc {

/// Makes errors of PETSc in any process end all processes, with a message in the folder.
PetscErrorCode install_failure_handler(const std::string& folder);

/// Lets OpenBLAS allocate its buffer, for which it asks again and again where memory has run out. Ends all
/// processes if there is too little memory for it.
void reserve_blas_buffer();

/// Ends all processes: other processes may be waiting for this one in a collective operation, so that no
/// agreement is possible. The first process that fails writes its number, the kind of the failure and the
/// message to the file `error` of the folder.
[[noreturn]] void end_all(const std::exception& error);

}  // namespace echelon::petsc
