// SPDX-License-Identifier: BSD-3-Clause
// hypre's Gauss-Seidel sweep in one process, where it is exact.
#pragma once

#include <echelon/echelon.hpp>

#include <HYPRE.h>
#include <_hypre_parcsr_ls.h>
#include <mpi.h>

#include <stdexcept>
#include <vector>

namespace echelon::bench {

/// A matrix and two vectors in hypre's form. Double precision only: Debian's hypre has no other.
class HypreSweep {
 public:
  HypreSweep(const Csr<double>& A, const std::vector<double>& b) : rows_(static_cast<int>(A.rows())) {
    int ready = 0;
    MPI_Initialized(&ready);
    if (ready == 0) MPI_Init(nullptr, nullptr);
    HYPRE_Init();
    indices_.resize(b.size());
    for (int i = 0; i < rows_; ++i) indices_[static_cast<std::size_t>(i)] = i;
    bring_matrix(A);
    b_ = new_vector(b);
    x_ = new_vector(std::vector<double>(b.size(), 1));
    scratch_ = new_vector(std::vector<double>(b.size(), 0));
  }
  HypreSweep(const HypreSweep&) = delete;
  HypreSweep& operator=(const HypreSweep&) = delete;
  ~HypreSweep() {
    HYPRE_IJMatrixDestroy(A_);
    for (const HYPRE_IJVector vector : {b_, x_, scratch_}) HYPRE_IJVectorDestroy(vector);
  }

  /// One forward sweep by hypre's "hybrid" Gauss-Seidel, which is the exact one in a single process.
  void forward() {
    constexpr int hybrid_forward = 3;
    constexpr int all_points = 0;
    if (hypre_BoomerAMGRelax(matrix(), parts(b_), nullptr, hybrid_forward, all_points, 1, 1, nullptr,
                             parts(x_), parts(scratch_), nullptr) != 0)
      throw std::runtime_error("hypre's sweep failed");
  }

  /// Result of one sweep that starts with all elements 1.
  std::vector<double> after_one_sweep() {
    std::vector<double> x(indices_.size(), 1);
    HYPRE_IJVectorSetValues(x_, rows_, indices_.data(), x.data());
    forward();
    HYPRE_IJVectorGetValues(x_, rows_, indices_.data(), x.data());
    return x;
  }

 private:
  void bring_matrix(const Csr<double>& A) {
    HYPRE_IJMatrixCreate(MPI_COMM_SELF, 0, rows_ - 1, 0, rows_ - 1, &A_);
    HYPRE_IJMatrixSetObjectType(A_, HYPRE_PARCSR);
    std::vector<HYPRE_Int> lengths(indices_.size());
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      lengths[i] = static_cast<HYPRE_Int>(A.row_offsets()[row + 1] - A.row_offsets()[row]);
    }
    HYPRE_IJMatrixSetRowSizes(A_, lengths.data());
    HYPRE_IJMatrixInitialize(A_);
    HYPRE_IJMatrixSetValues(A_, rows_, lengths.data(), indices_.data(), A.column_indices().data(),
                            A.values().data());
    HYPRE_IJMatrixAssemble(A_);
  }

  HYPRE_IJVector new_vector(const std::vector<double>& values) {
    HYPRE_IJVector vector = nullptr;
    HYPRE_IJVectorCreate(MPI_COMM_SELF, 0, rows_ - 1, &vector);
    HYPRE_IJVectorSetObjectType(vector, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(vector);
    HYPRE_IJVectorSetValues(vector, rows_, indices_.data(), values.data());
    HYPRE_IJVectorAssemble(vector);
    return vector;
  }

  hypre_ParCSRMatrix* matrix() {
    void* object = nullptr;
    HYPRE_IJMatrixGetObject(A_, &object);
    return static_cast<hypre_ParCSRMatrix*>(object);
  }
  static hypre_ParVector* parts(HYPRE_IJVector vector) {
    void* object = nullptr;
    HYPRE_IJVectorGetObject(vector, &object);
    return static_cast<hypre_ParVector*>(object);
  }

  int rows_;
  std::vector<HYPRE_Int> indices_;
  HYPRE_IJMatrix A_ = nullptr;
  HYPRE_IJVector b_ = nullptr;
  HYPRE_IJVector x_ = nullptr;
  HYPRE_IJVector scratch_ = nullptr;
};

}  // namespace echelon::bench
