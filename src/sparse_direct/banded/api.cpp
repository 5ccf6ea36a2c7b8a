// SPDX-License-Identifier: BSD-3-Clause
// <echelon/banded.hpp>: checks of arguments, and dispatch to the host or CUDA. Transposed solves of BandedLu.
#include "backend/api_boundary.hpp"
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "sparse_direct/banded/operations.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/banded_lu.hpp>

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace echelon {

namespace {

template <class T>
void check_band(const BandBatch<T>& A) {
  if (A.n() < 0 || A.lower() < 0 || A.upper() < 0 || A.count() < 0) {
    throw DimensionMismatch(fmt::format("A has {} matrices of {} rows with {} and {} diagonals: negative",
                                        A.count(), A.n(), A.lower(), A.upper()));
  }
  if (A.n() > std::numeric_limits<std::int32_t>::max()) {
    throw DimensionMismatch(fmt::format("A has {} rows: at most 2^31 - 1 can be numbered", A.n()));
  }
  if (A.leading() < A.lower() + A.upper() + 1 || (A.count() > 1 && A.stride() < A.leading() * A.n())) {
    throw DimensionMismatch(
        fmt::format("the columns of A, {} below and {} above the diagonal, overlap with leading dimension {} "
                    "and stride {}",
                    A.lower(), A.upper(), A.leading(), A.stride()));
  }
}

template <class T>
void check_rhs(const DenseBatch<T>& B, std::int64_t n, std::int64_t count, const Device& device) {
  if (B.rows() != n || B.count() != count) {
    throw DimensionMismatch(fmt::format("A has {} matrices of {} rows and B {} of {}: they have to agree",
                                        count, n, B.count(), B.rows()));
  }
  if (B.columns() < 0 || B.leading() < B.rows() ||
      (B.count() > 1 && B.columns() > 0 && B.stride() < B.leading() * (B.columns() - 1) + B.rows())) {
    throw DimensionMismatch(
        fmt::format("the columns of B, {} by {}, overlap with leading dimension {} and stride {}", B.rows(),
                    B.columns(), B.leading(), B.stride()));
  }
  check_same_memory(device, "A", B.device(), "B");
}

}  // namespace

template <class T>
BandFactorization<T>::BandFactorization(const Device& device) : device_(device) {
  at_api_boundary([&] {
    factors_ = on_target(device, [&]<class Target>() { return make_band_factors<Target, T>(device); });
  });
}
template <class T>
BandFactorization<T>::BandFactorization(BandFactorization&&) noexcept = default;
template <class T>
BandFactorization<T>& BandFactorization<T>::operator=(BandFactorization&&) noexcept = default;
template <class T>
BandFactorization<T>::~BandFactorization() = default;

template <class T>
Array<BatchOutcome> BandFactorization<T>::factor(const BandBatch<const T>& A) {
  return at_api_boundary([&] {
    check_band(A);
    check_same_memory(device_, "the factorisation", A.device(), "A");
    Array<BatchOutcome> outcomes(device_, A.count());
    factors_->factor(A, outcomes.data());
    return outcomes;
  });
}

template <class T>
void BandFactorization<T>::solve(const DenseBatch<T>& B) {
  at_api_boundary([&] {
    if (factors_->bytes() == 0 && B.rows() > 0 && B.count() > 0)
      throw Error("solve needs a factorisation: call factor");
    check_rhs(B, factors_->n(), factors_->count(), device_);
    factors_->solve(B);
  });
}

template <class T>
std::size_t BandFactorization<T>::bytes() const {
  return factors_->bytes();
}

template <class T>
Array<BatchOutcome> solve_band(const BandBatch<const T>& A, const DenseBatch<T>& B) {
  return at_api_boundary([&] {
    check_band(A);
    check_rhs(B, A.n(), A.count(), A.device());
    Array<BatchOutcome> outcomes(A.device(), A.count());
    on_target(A.device(), [&]<class Target>() { solve_bands<Target, T>(A, B, outcomes.data()); });
    return outcomes;
  });
}

template <class T>
Report BandedLu<T>::solve_transposed(DenseView<const T> B, DenseView<T> X) const {
  return this->solve(B, X, {.operation = Operation::transpose});
}

template class BandedLu<float>;
template class BandedLu<double>;
template class BandFactorization<float>;
template class BandFactorization<double>;
template Array<BatchOutcome> solve_band(const BandBatch<const float>&, const DenseBatch<float>&);
template Array<BatchOutcome> solve_band(const BandBatch<const double>&, const DenseBatch<double>&);

}  // namespace echelon
