// SPDX-License-Identifier: BSD-3-Clause
// The public batch operations: checks of arguments, and dispatch to the host or CUDA.
#include "backend/api_boundary.hpp"
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "dense/batched/operations.hpp"
#include "dense/gauss_jordan/rank.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <memory>
#include <utility>

namespace echelon {

namespace {

template <class T>
constexpr Targets batch_targets = is_complex<T> ? targets_of<T> : Targets::both;

template <class T>
void check_layout(const DenseBatch<T>& A, const char* name) {
  const bool fits =
      A.rows() >= 0 && A.columns() >= 0 && A.count() >= 0 && A.leading() >= A.rows() &&
      (A.count() < 2 || A.columns() == 0 || A.stride() >= A.leading() * (A.columns() - 1) + A.rows());
  if (fits) return;
  throw DimensionMismatch(
      fmt::format("the matrices of {}, {} by {}, overlap with leading dimension {} and stride {}", name,
                  A.rows(), A.columns(), A.leading(), A.stride()));
}

template <class T>
void check_square(const DenseBatch<T>& A) {
  check_layout(A, "A");
  if (A.rows() == A.columns()) return;
  throw DimensionMismatch(
      fmt::format("the matrices of A are {} by {}: they have to be square", A.rows(), A.columns()));
}

template <class T>
double checked_tolerance(const BatchOptions& options, std::int64_t n) {
  const double tolerance = options.tolerance.value_or(default_tolerance<T>(n, n));
  if (!(tolerance >= 0 && tolerance <= 1)) {
    throw BadOption("tolerance", fmt::format("{} is not between 0 and 1", tolerance));
  }
  if (options.refine < 0 || options.refine > 10) {
    throw BadOption("refine", fmt::format("{} is not between 0 and 10", options.refine));
  }
  return tolerance;
}

template <class U, class T>
void check_systems(const DenseBatch<U>& A, const DenseBatch<T>& B) {
  if (A.rows() != B.rows() || A.count() != B.count()) {
    throw DimensionMismatch(fmt::format("A has {} matrices of {} rows and B {} of {}: they have to agree",
                                        A.count(), A.rows(), B.count(), B.rows()));
  }
  check_same_memory(A.device(), "A", B.device(), "B");
}

}  // namespace

template <class T>
Array<BatchOutcome> invert_batch(const DenseBatch<T>& A, const BatchOptions& options) {
  return at_api_boundary([&] {
    check_square(A);
    const double tolerance = checked_tolerance<T>(options, A.rows());
    Array<BatchOutcome> outcomes(A.device(), A.count());
    on_target<batch_targets<T>>(
        A.device(), [&]<class Target>() { invert_batch_on<Target, T>(A, tolerance, outcomes.data()); });
    return outcomes;
  });
}

template <class T>
Array<BatchOutcome> solve_batch(const DenseBatch<const T>& A, const DenseBatch<T>& B,
                                const BatchOptions& options) {
  return at_api_boundary([&] {
    check_square(A);
    check_layout(B, "B");
    const double tolerance = checked_tolerance<T>(options, A.rows());
    check_systems<const T, T>(A, B);
    Array<BatchOutcome> outcomes(A.device(), A.count());
    on_target<batch_targets<T>>(A.device(), [&]<class Target>() {
      solve_batch_on<Target, T>(A, B, tolerance, options.refine, outcomes.data());
    });
    return outcomes;
  });
}

template <class T>
BatchFactors<T>::BatchFactors(const DenseBatch<T>& A, BatchFactorization kind, const BatchOptions& options) {
  at_api_boundary([&] {
    check_square(A);
    const double tolerance = checked_tolerance<T>(options, A.rows());
    if (!A.device().on_host() && A.rows() > max_gpu_rows) {
      throw InvalidMatrix(
          fmt::format("the matrices of a batch have {} rows, and more than {} are too many for "
                      "batches on a GPU: factor them one after the other",
                      A.rows(), max_gpu_rows));
    }
    auto factors = std::make_shared<batch_detail::Factors<T>>();
    factors->A = A;
    factors->kind = kind;
    factors->outcomes = Array<BatchOutcome>(A.device(), A.count());
    on_target<batch_targets<T>>(A.device(),
                                [&]<class Target>() { factor_batch_on<Target, T>(*factors, tolerance); });
    factors_ = std::move(factors);
  });
}

template <class T>
const Array<BatchOutcome>& BatchFactors<T>::outcomes() const {
  return factors_->outcomes;
}

template <class T>
std::size_t BatchFactors<T>::bytes() const {
  return factors_->pivots.bytes() + factors_->inverses.bytes() + factors_->outcomes.bytes();
}

template <class T>
void BatchFactors<T>::solve(const DenseBatch<T>& B) const {
  at_api_boundary([&] {
    check_layout(B, "B");
    check_systems<T, T>(factors_->A, B);
    on_target<batch_targets<T>>(B.device(),
                                [&]<class Target>() { substitute_batch_on<Target, T>(*factors_, B); });
  });
}

#define ECHELON_INSTANTIATE(T)                                                               \
  template class BatchFactors<T>;                                                            \
  template Array<BatchOutcome> invert_batch(const DenseBatch<T>&, const BatchOptions&);      \
  template Array<BatchOutcome> solve_batch(const DenseBatch<const T>&, const DenseBatch<T>&, \
                                           const BatchOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
