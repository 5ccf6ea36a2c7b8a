// SPDX-License-Identifier: BSD-3-Clause
/// Share of the node's cores that a process may use.
#pragma once

#include <petscsys.h>

namespace echelon::petsc {

/// Divides the cores of each node among its processes; collective on `comm`. A core that several processes
/// are bound to counts in equal parts for each; every process has at least one.
PetscErrorCode divide_cores(MPI_Comm comm);

/// Number of threads of this process by the last divide_cores(); OMP_NUM_THREADS of the environment takes
/// precedence.
[[nodiscard]] int thread_share();

}  // namespace echelon::petsc
