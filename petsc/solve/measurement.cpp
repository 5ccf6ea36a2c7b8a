// SPDX-License-Identifier: BSD-3-Clause
#include "measurement.hpp"

#include "../guard.hpp"

#include <petsclog.h>

#include <array>

namespace echelon::petsc {

PetscErrorCode measure_traffic(Traffic& traffic) {
  std::array<double, 2> own{};
  double reductions = 0;
#if defined(PETSC_USE_LOG)
  own = {petsc_isend_ct + petsc_send_ct, petsc_isend_len + petsc_send_len};
  reductions = petsc_allreduce_ct + petsc_gather_ct + petsc_scatter_ct;
#endif
  std::array<double, 2> sums{};
  PetscCallMPI(MPI_Allreduce(own.data(), sums.data(), 2, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(&reductions, &traffic.reductions, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  traffic.messages = sums[0];
  traffic.bytes = sums[1];
  return success;
}

PetscErrorCode measure_memory(double& bytes) {
  PetscLogDouble own = 0;
  PetscCall(PetscMemoryGetCurrentUsage(&own));
  PetscCallMPI(MPI_Allreduce(&own, &bytes, 1, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  return success;
}

}  // namespace echelon::petsc
