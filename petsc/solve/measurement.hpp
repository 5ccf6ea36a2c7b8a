// SPDX-License-Identifier: BSD-3-Clause
/// Messages and memory of all processes.
#pragma once

#include <petscsys.h>

namespace echelon::petsc {

/// Sums over all processes since a process began, but for `reductions`, which all processes take part in.
struct Traffic {
  double messages = 0;    ///< sent from process to process
  double bytes = 0;       ///< in these messages
  double reductions = 0;  ///< and other collective operations
};

/// Traffic that PETSc has counted, by whose macros it passes every message; zeros if it was built without
/// them. Collective.
PetscErrorCode measure_traffic(Traffic& traffic);

/// Sum of the memory of all processes in bytes. Collective.
PetscErrorCode measure_memory(double& bytes);

}  // namespace echelon::petsc
