// SPDX-License-Identifier: BSD-3-Clause
// Batches on a GPU: matrices of up to 128 rows in the registers of thread groups, larger ones by factors of
// the whole batch, or one after the other where the GPU is busy with each.
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "dense/batched/factored_solve.cuh"
#include "dense/batched/operations.hpp"
#include "dense/batched/register_elimination.cuh"
#include "dense/batched/single_matrix.hpp"

#include <algorithm>

namespace echelon {

namespace {

using batch_kernels::BatchJob;
using batch_kernels::Task;

template <Task task, int size, int warps, class T>
void launch(const BatchJob<T>& job) {
  using Group = batch_kernels::GroupElimination<T, size, warps, task>;
  constexpr int bytes = Group::groups_per_block * static_cast<int>(sizeof(typename Group::Shared));
  allow_shared_memory(batch_kernels::eliminate_batch<T, size, warps, task>);
  const std::int64_t blocks = (job.count + Group::groups_per_block - 1) / Group::groups_per_block;
  batch_kernels::eliminate_batch<T, size, warps, task>
      <<<static_cast<unsigned>(blocks), Group::threads_per_block, bytes, stream()>>>(job);
  check(cudaGetLastError());
}

constexpr std::int64_t max_register_rows = 128;
/// Rows up to which a block factors a matrix, however many there are.
constexpr std::int64_t max_factored_rows = 512;

template <Task task, class T>
void launch_for_size(const BatchJob<T>& job) {
  if (job.n <= 8) {
    launch<task, 8, 1>(job);
  } else if (job.n <= 16) {
    launch<task, 16, 1>(job);
  } else if (job.n <= 32) {
    launch<task, 32, 1>(job);
  } else if (job.n <= 64) {
    launch<task, 64, sizeof(T) == 8 ? 4 : 1>(job);
  } else {
    launch<task, 128, 8>(job);
  }
}

/// Whether factors of the whole batch take less time than its matrices one after the other: for several
/// matrices, one of which leaves most of the GPU idle. Inverses need more flops by factors than by
/// elimination.
template <class T>
bool pays_for_batch(Task task, std::int64_t rows, std::int64_t count) {
  constexpr std::int64_t least_count = 3;
  constexpr std::int64_t rows_of_one = 1024;
  const std::int64_t most_rows = task == Task::invert ? 1024 : BatchFactors<T>::max_gpu_rows;
  return rows <= most_rows && count >= std::max(least_count, rows / rows_of_one);
}

}  // namespace

template <class Target, class T>
void invert_batch_on(const DenseBatch<T>& A, double tolerance, BatchOutcome* outcomes) {
  if (A.count() == 0 || A.rows() == 0) {
    Cuda(A.device()).fill(A.count(), BatchOutcome{}, outcomes);
  } else if (A.rows() <= max_register_rows) {
    const CurrentDevice current(A.device().id());
    launch_for_size<Task::invert, T>({.a = A.data(),
                                      .leading = A.leading(),
                                      .stride = A.stride(),
                                      .count = A.count(),
                                      .n = static_cast<int>(A.rows()),
                                      .tolerance = tolerance,
                                      .outcomes = outcomes});
  } else if (pays_for_batch<T>(Task::invert, A.rows(), A.count())) {
    invert_batch_by_factors<T>(A, tolerance, outcomes);
  } else {
    SingleMatrix<Cuda, T> matrix(A.device(), A.rows());
    for (std::int64_t b = 0; b < A.count(); ++b) {
      matrix.backend().write(matrix.invert(matrix_of(A, b, A.device()), tolerance), outcomes + b);
    }
  }
}

template <class Target, class T>
void solve_batch_on(const DenseBatch<const T>& A, const DenseBatch<T>& B, double tolerance,
                    std::int64_t refine, BatchOutcome* outcomes) {
  if (A.count() == 0 || A.rows() == 0) {
    Cuda(A.device()).fill(A.count(), BatchOutcome{}, outcomes);
  } else if (A.rows() <= max_register_rows) {
    const CurrentDevice current(A.device().id());
    launch_for_size<Task::solve, T>({.a = const_cast<T*>(A.data()),
                                     .leading = A.leading(),
                                     .stride = A.stride(),
                                     .count = A.count(),
                                     .n = static_cast<int>(A.rows()),
                                     .tolerance = tolerance,
                                     .b = B.data(),
                                     .b_leading = B.leading(),
                                     .b_stride = B.stride(),
                                     .b_columns = B.columns(),
                                     .refine = refine,
                                     .outcomes = outcomes});
  } else if (A.rows() <= max_factored_rows || pays_for_batch<T>(Task::solve, A.rows(), A.count())) {
    solve_batch_by_factors<T>(A, B, tolerance, refine, outcomes);
  } else {
    SingleMatrix<Cuda, T> matrix(A.device(), A.rows(), B.columns());
    for (std::int64_t b = 0; b < A.count(); ++b) {
      matrix.backend().write(
          matrix.solve(matrix_of(A, b, A.device()), matrix_of(B, b, A.device()), tolerance, refine),
          outcomes + b);
    }
  }
}

template void invert_batch_on<CudaTarget>(const DenseBatch<float>&, double, BatchOutcome*);
template void invert_batch_on<CudaTarget>(const DenseBatch<double>&, double, BatchOutcome*);
template void solve_batch_on<CudaTarget>(const DenseBatch<const float>&, const DenseBatch<float>&, double,
                                         std::int64_t, BatchOutcome*);
template void solve_batch_on<CudaTarget>(const DenseBatch<const double>&, const DenseBatch<double>&, double,
                                         std::int64_t, BatchOutcome*);

}  // namespace echelon
