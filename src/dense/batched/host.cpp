// SPDX-License-Identifier: BSD-3-Clause
// Batches on the host: one thread for each matrix.
#include "backend/host/host.hpp"

#include "dense/batched/operations.hpp"
#include "dense/batched/single_matrix.hpp"
#include "support/first_exception.hpp"

#include <omp.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <memory>
#include <vector>

namespace echelon {

namespace {

/// Calls work(matrix, b) for every matrix b, with a SingleMatrix(device, sizes...) for each thread. Rethrows
/// an exception of `work`.
template <class T, class Work, class... Sizes>
void for_each_matrix(const Device& device, std::int64_t count, const Work& work, Sizes... sizes) {
  const int threads = static_cast<int>(std::clamp<std::int64_t>(count, 1, device.threads()));
  std::vector<std::unique_ptr<SingleMatrix<Host, T>>> workspaces;
  workspaces.reserve(static_cast<std::size_t>(threads));
  for (int t = 0; t < threads; ++t) {
    workspaces.push_back(std::make_unique<SingleMatrix<Host, T>>(Device::serial(), sizes...));
  }
  FirstException exception;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t b = 0; b < count; ++b) {
    exception.catch_from([&] { work(*workspaces[static_cast<std::size_t>(omp_get_thread_num())], b); });
  }
  exception.rethrow();
}

}  // namespace

template <class Target, class T>
void invert_batch_on(const DenseBatch<T>& A, double tolerance, BatchOutcome* outcomes) {
  const auto invert = [&](SingleMatrix<Host, T>& matrix, std::int64_t b) {
    outcomes[b] = matrix.invert(matrix_of(A, b, Device::serial()), tolerance);
  };
  for_each_matrix<T>(A.device(), A.count(), invert, A.rows());
}

template <class Target, class T>
void solve_batch_on(const DenseBatch<const T>& A, const DenseBatch<T>& B, double tolerance,
                    std::int64_t refine, BatchOutcome* outcomes) {
  const auto solve = [&](SingleMatrix<Host, T>& matrix, std::int64_t b) {
    outcomes[b] =
        matrix.solve(matrix_of(A, b, Device::serial()), matrix_of(B, b, Device::serial()), tolerance, refine);
  };
  for_each_matrix<T>(A.device(), A.count(), solve, A.rows(), B.columns());
}

#define ECHELON_INSTANTIATE(T)                                                                       \
  template void invert_batch_on<HostTarget>(const DenseBatch<T>&, double, BatchOutcome*);            \
  template void solve_batch_on<HostTarget>(const DenseBatch<const T>&, const DenseBatch<T>&, double, \
                                           std::int64_t, BatchOutcome*);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
