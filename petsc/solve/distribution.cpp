// SPDX-License-Identifier: BSD-3-Clause
#include "distribution.hpp"

#include "../guard.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace echelon::petsc {

namespace {

constexpr int tag = 0;

template <class T>
PetscErrorCode send_array(const std::vector<T>& values, MPI_Datatype type, PetscMPIInt to) {
  const auto count = static_cast<PetscMPIInt>(values.size());
  PetscCallMPI(MPI_Send(&count, 1, MPI_INT, to, tag, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Send(values.data(), count, type, to, tag, PETSC_COMM_WORLD));
  return success;
}

template <class T>
PetscErrorCode receive_array(std::vector<T>& values, MPI_Datatype type) {
  PetscMPIInt count = 0;
  PetscCallMPI(MPI_Recv(&count, 1, MPI_INT, 0, tag, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
  values.resize(static_cast<std::size_t>(count));
  PetscCallMPI(MPI_Recv(values.data(), count, type, 0, tag, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
  return success;
}

PetscErrorCode send_part(const Part& part, PetscMPIInt to) {
  PetscCall(send_array(part.unknowns, MPI_INT32_T, to));
  PetscCall(send_array(part.offsets, MPI_INT32_T, to));
  PetscCall(send_array(part.columns, MPI_INT32_T, to));
  return send_array(part.values, MPI_DOUBLE, to);
}

PetscErrorCode receive_part(Part& part) {
  PetscCall(receive_array(part.unknowns, MPI_INT32_T));
  PetscCall(receive_array(part.offsets, MPI_INT32_T));
  PetscCall(receive_array(part.columns, MPI_INT32_T));
  return receive_array(part.values, MPI_DOUBLE);
}

/// Indices in PETSc's type, of 32 or 64 bits.
std::vector<PetscInt> petsc_indices(const std::vector<std::int32_t>& indices) {
  return {indices.begin(), indices.end()};
}

}  // namespace

Distribution::~Distribution() {
  (void)MatDestroy(&A_);
}

PetscInt Distribution::own_rows() const {
  return rows_[static_cast<std::size_t>(rank_)];
}

PetscErrorCode Distribution::send_sizes(const std::optional<Problem>& problem) {
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank_));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &processes_));
  rows_.assign(static_cast<std::size_t>(processes_), 0);
  std::array<PetscInt, 2> counts{};
  if (problem) {
    std::ranges::copy(problem->rows_of_parts(), rows_.begin());
    counts = {static_cast<PetscInt>(problem->right_hand_sides().columns()),
              static_cast<PetscInt>(problem->near_null_space().columns())};
  }
  PetscCallMPI(MPI_Bcast(rows_.data(), processes_, MPI_INT, 0, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Bcast(counts.data(), 2, MPIU_INT, 0, PETSC_COMM_WORLD));
  columns_ = counts[0];
  null_vectors_ = counts[1];
  begins_.assign(rows_.size(), 0);
  std::exclusive_scan(rows_.begin(), rows_.end(), begins_.begin(), 0);
  return success;
}

PetscErrorCode Distribution::make_rows(const Part& part, PetscInt block_size) {
  const std::vector<PetscInt> offsets = petsc_indices(part.offsets);
  const std::vector<PetscInt> columns = petsc_indices(part.columns);
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A_));
  PetscCall(MatSetSizes(A_, own_rows(), own_rows(), PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetBlockSize(A_, block_size));
  PetscCall(MatSetType(A_, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(A_, offsets.data(), columns.data(), part.values.data()));
  return MatMPIAIJSetPreallocationCSR(A_, offsets.data(), columns.data(), part.values.data());
}

PetscErrorCode Distribution::make_subdomain(const Part& part, PetscInt block_size) {
  std::vector<PetscInt> nodes;
  for (std::size_t i = 0; i < part.unknowns.size(); i += static_cast<std::size_t>(block_size))
    nodes.push_back(part.unknowns[i] / block_size);
  ISLocalToGlobalMapping map = nullptr;
  PetscCall(ISLocalToGlobalMappingCreate(PETSC_COMM_WORLD, block_size, static_cast<PetscInt>(nodes.size()),
                                         nodes.data(), PETSC_COPY_VALUES, &map));
  PetscCall(MatCreateIS(PETSC_COMM_WORLD, block_size, own_rows(), own_rows(), PETSC_DETERMINE,
                        PETSC_DETERMINE, map, map, &A_));
  PetscCall(ISLocalToGlobalMappingDestroy(&map));
  const std::vector<PetscInt> offsets = petsc_indices(part.offsets);
  const std::vector<PetscInt> columns = petsc_indices(part.columns);
  const auto n = static_cast<PetscInt>(part.unknowns.size());
  Mat local = nullptr;
  PetscCall(MatCreate(PETSC_COMM_SELF, &local));
  PetscCall(MatSetSizes(local, n, n, n, n));
  PetscCall(MatSetBlockSize(local, block_size));
  PetscCall(MatSetType(local, MATSEQAIJ));
  PetscCall(MatSeqAIJSetPreallocationCSR(local, offsets.data(), columns.data(), part.values.data()));
  PetscCall(MatISSetLocalMat(A_, local));
  PetscCall(MatDestroy(&local));
  PetscCall(MatAssemblyBegin(A_, MAT_FINAL_ASSEMBLY));
  return MatAssemblyEnd(A_, MAT_FINAL_ASSEMBLY);
}

PetscErrorCode Distribution::set_near_null_space(const std::optional<Problem>& problem) {
  if (null_vectors_ == 0) return success;
  std::vector<Vec> vectors(static_cast<std::size_t>(null_vectors_), nullptr);
  for (PetscInt j = 0; j < null_vectors_; ++j) {
    Vec& vector = vectors[static_cast<std::size_t>(j)];
    PetscCall(MatCreateVecs(A_, &vector, nullptr));
    PetscCall(scatter(problem ? &problem->near_null_space() : nullptr, j, vector));
  }
  MatNullSpace space = nullptr;
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, null_vectors_, vectors.data(), &space));
  PetscCall(MatSetNearNullSpace(A_, space));
  PetscCall(MatNullSpaceDestroy(&space));
  for (Vec& vector : vectors) PetscCall(VecDestroy(&vector));
  return success;
}

PetscErrorCode Distribution::send(const std::optional<Problem>& problem, Division division,
                                  PetscInt block_size) {
  PetscCall(send_sizes(problem));
  Part part;
  if (problem) {
    for (PetscMPIInt to = 1; to < processes_; ++to) PetscCall(send_part(problem->part(to), to));
    part = problem->part(0);
  } else {
    PetscCall(receive_part(part));
  }
  PetscCall(division == Division::rows ? make_rows(part, block_size) : make_subdomain(part, block_size));
  return set_near_null_space(problem);
}

PetscErrorCode Distribution::scatter(const Dense<double>* columns, std::int64_t j, Vec x) const {
  PetscScalar* values = nullptr;
  PetscCall(VecGetArrayWrite(x, &values));
  const double* const column = columns != nullptr ? columns->view().column(j) : nullptr;
  PetscCallMPI(MPI_Scatterv(column, rows_.data(), begins_.data(), MPI_DOUBLE, values,
                            static_cast<PetscMPIInt>(own_rows()), MPI_DOUBLE, 0, PETSC_COMM_WORLD));
  return VecRestoreArrayWrite(x, &values);
}

PetscErrorCode Distribution::gather(Vec x, Dense<double>* columns, std::int64_t j) const {
  const PetscScalar* values = nullptr;
  PetscCall(VecGetArrayRead(x, &values));
  double* const column = columns != nullptr ? columns->view().column(j) : nullptr;
  PetscCallMPI(MPI_Gatherv(values, static_cast<PetscMPIInt>(own_rows()), MPI_DOUBLE, column, rows_.data(),
                           begins_.data(), MPI_DOUBLE, 0, PETSC_COMM_WORLD));
  return VecRestoreArrayRead(x, &values);
}

}  // namespace echelon::petsc
