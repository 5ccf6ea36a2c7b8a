// SPDX-License-Identifier: BSD-3-Clause
#include "node_share.hpp"

#include "guard.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>

namespace echelon::petsc {

namespace {

/// Results of divide_nodes, which runs once, when the plug-in is registered.
int share = 1;
int processes_on_node = 1;
int rank_on_node = 0;

/// 1 for each core that this process may run on, else 0.
std::array<int, CPU_SETSIZE> own_cores() {
  std::array<int, CPU_SETSIZE> cores{};
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (std::size_t k = 0; k < cores.size(); ++k) cores[k] = CPU_ISSET(k, &set) ? 1 : 0;
  return cores;
}

}  // namespace

PetscErrorCode divide_nodes(MPI_Comm comm) {
  MPI_Comm node = MPI_COMM_NULL;
  PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  const std::array<int, CPU_SETSIZE> own = own_cores();
  std::array<int, CPU_SETSIZE> processes{};
  PetscCallMPI(MPI_Allreduce(own.data(), processes.data(), CPU_SETSIZE, MPI_INT, MPI_SUM, node));
  PetscCallMPI(MPI_Comm_size(node, &processes_on_node));
  PetscCallMPI(MPI_Comm_rank(node, &rank_on_node));
  PetscCallMPI(MPI_Comm_free(&node));
  double cores = 0;
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (own[k] != 0) cores += 1.0 / processes[k];
  }
  share = std::max(1, static_cast<int>(std::floor(cores + 1e-6)));
  return success;
}

int thread_share() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  const int asked = text != nullptr ? std::atoi(text) : 0;
  return asked > 0 ? asked : share;
}

std::optional<Device> own_gpu() {
  if (cuda_device_count() < processes_on_node) return std::nullopt;
  return Device::cuda(rank_on_node);
}

}  // namespace echelon::petsc
