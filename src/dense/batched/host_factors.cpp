// SPDX-License-Identifier: BSD-3-Clause
// LU and Cholesky factors of batches on the host: LAPACK's, one thread for each matrix.
#include "backend/host/host.hpp"
#include "dense/batched/operations.hpp"
#include "dense/batched/single_matrix.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "support/first_exception.hpp"
#include "support/scalar.hpp"

#include <omp.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace echelon {

namespace {

/// Calls work(b) for every matrix b of a batch, each on one thread, BLAS included. Rethrows an exception of
/// `work`.
template <class Work>
void for_each_matrix(const Device& device, std::int64_t count, const Work& work) {
  const int threads = static_cast<int>(std::clamp<std::int64_t>(count, 1, device.threads()));
  FirstException exception;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t b = 0; b < count; ++b) {
    exception.catch_from([&] {
      const blas::Threads one(Device::serial(), 1);
      work(b);
    });
  }
  exception.rethrow();
}

/// Replaces A by the factors of P A = L U, and assesses the pivots.
template <class T>
BatchOutcome factor_lu(DenseView<T> A, int* pivots, double tolerance) {
  const int n = static_cast<int>(A.rows());
  double norm = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += magnitude(A(i, j));
    norm = std::max(norm, sum);
  }
  const double threshold = std::isfinite(norm) ? tolerance * norm : 0;
  lapack::getrf(n, n, A.data(), static_cast<int>(A.leading()), pivots);
  for (std::int32_t j = 0; j < n; ++j) {
    if (!is_finite(A(j, j))) return {Status::not_a_number, j};
    if (magnitude(A(j, j)) <= threshold) return {Status::singular, j};
  }
  return {};
}

/// The outcome for a Cholesky pivot of column j; `element`: a_jj of the matrix.
BatchOutcome assess_cholesky_pivot(double pivot, double element, double tolerance, std::int32_t j) {
  const double rounding = tolerance * std::fabs(element);
  if (!std::isfinite(pivot)) return {Status::not_a_number, j};
  if (pivot > rounding) return {};
  return {pivot >= -rounding ? Status::singular : Status::not_spd, j};
}

template <class T>
BatchOutcome factor_cholesky(DenseView<T> A, double tolerance) {
  const auto n = static_cast<std::int32_t>(A.rows());
  std::vector<double> diagonal(static_cast<std::size_t>(n));
  for (std::int32_t j = 0; j < n; ++j) diagonal[static_cast<std::size_t>(j)] = real(A(j, j));
  const int failed = lapack::potrf(n, A.data(), static_cast<int>(A.leading())) - 1;
  for (std::int32_t j = 0; j < n; ++j) {
    const double element = real(A(j, j));
    const double pivot = j == failed ? element : element * element;
    const BatchOutcome outcome =
        assess_cholesky_pivot(pivot, diagonal[static_cast<std::size_t>(j)], tolerance, j);
    if (outcome.status != Status::direct || j == failed) return outcome;
  }
  return {};
}

}  // namespace

template <class Target, class T>
void factor_batch_on(batch_detail::Factors<T>& factors, double tolerance) {
  const std::int64_t n = factors.A.rows();
  const bool lu = factors.kind == BatchFactorization::lu;
  if (lu) factors.pivots = Array<std::int32_t>(Device(), n * factors.A.count());
  for_each_matrix(factors.A.device(), factors.A.count(), [&](std::int64_t b) {
    const DenseView<T> A = matrix_of(factors.A, b, Device::serial());
    BatchOutcome& outcome = factors.outcomes[b];
    outcome = BatchOutcome{};
    if (n == 0) return;
    outcome = lu ? factor_lu(A, factors.pivots.data() + b * n, tolerance) : factor_cholesky(A, tolerance);
  });
}

template <class Target, class T>
void substitute_batch_on(const batch_detail::Factors<T>& factors, const DenseBatch<T>& B) {
  if (B.rows() == 0 || B.columns() == 0) return;
  const bool lu = factors.kind == BatchFactorization::lu;
  for_each_matrix(factors.A.device(), B.count(), [&](std::int64_t b) {
    const DenseView<T> A = matrix_of(factors.A, b, Device::serial());
    const DenseView<T> X = matrix_of(B, b, Device::serial());
    const int n = static_cast<int>(A.rows());
    const int columns = static_cast<int>(X.columns());
    const int leading = static_cast<int>(A.leading());
    const int leading_x = static_cast<int>(X.leading());
    if (factors.outcomes[b].status != Status::direct) {
      Host backend(Device::serial());
      fill_with_nan(backend, X);
      return;
    }
    if (lu) lapack::swap_rows(columns, X.data(), leading_x, 0, n, factors.pivots.data() + b * n);
    blas::trsm(CblasLower, CblasNoTrans, lu ? CblasUnit : CblasNonUnit, n, columns, A.data(), leading,
               X.data(), leading_x);
    blas::trsm(lu ? CblasUpper : CblasLower, lu ? CblasNoTrans : CblasConjTrans, CblasNonUnit, n, columns,
               A.data(), leading, X.data(), leading_x);
  });
}

#define ECHELON_INSTANTIATE(T)                                                  \
  template void factor_batch_on<HostTarget>(batch_detail::Factors<T>&, double); \
  template void substitute_batch_on<HostTarget>(const batch_detail::Factors<T>&, const DenseBatch<T>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
