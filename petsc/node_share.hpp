// SPDX-License-Identifier: BSD-3-Clause
/// Share of the node's cores and GPUs that a process may use.
#pragma once

#include <echelon/device.hpp>

#include <petscsys.h>

#include <optional>

namespace echelon::petsc {

/// Divides the cores and GPUs of each node among its processes; collective on `comm`. A core that several
/// processes are bound to counts in equal parts for each; every process has at least one.
PetscErrorCode divide_nodes(MPI_Comm comm);

/// Number of threads of this process by the last divide_nodes(); OMP_NUM_THREADS of the environment takes
/// precedence.
[[nodiscard]] int thread_share();

/// The GPU that this process has for itself by the last divide_nodes(): none where a node has fewer GPUs than
/// processes.
[[nodiscard]] std::optional<Device> own_gpu();

}  // namespace echelon::petsc
