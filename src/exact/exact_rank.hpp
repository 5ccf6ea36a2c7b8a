// SPDX-License-Identifier: BSD-3-Clause
/// Rank of a matrix and consistency of a system without rounding errors, where that is cheap. It decides what
/// elimination in floating point leaves in doubt.
#pragma once

#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/scalar.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace echelon {

/// Facts about a matrix as it is stored, by inspection if it is triangular or diagonally dominant, else by
/// elimination modulo primes on one core of the host: see rank_modulo(). They are computed at most once, when
/// they are first asked for. Thread-safe.
template <class T>
class ExactRank {
 public:
  ExactRank() = default;
  /// `A` is referred to. Its elements must be finite.
  explicit ExactRank(const MatrixRef<T>& A) : A_(A) {}

  /// Rank of A; empty for an operator, and where inspection does not prove A nonsingular and elimination
  /// takes more than some 10^8 operations by the order and the bandwidth of A. A full rank is proven. A lower
  /// one is the larger of the ranks modulo two primes near 2^31, each of which is at most the rank of A and
  /// less than that only if the prime divides all minors of that order.
  [[nodiscard]] std::optional<std::int64_t> rank();
  /// The largest rank that A may have.
  [[nodiscard]] std::int64_t order() const { return std::min(A_.rows(), A_.columns()); }
  /// Whether A is proven to be square and nonsingular.
  [[nodiscard]] bool nonsingular() { return A_.rows() == A_.columns() && rank() == A_.rows(); }
  /// Whether inspection proves that A is nonsingular, and not only by rounding errors of its elements: see
  /// is_regular_by_inspection(). At most one pass over A.
  [[nodiscard]] bool regular_by_inspection();
  /// Whether inspection proves that A is symmetric and positive definite. At most two passes over A.
  [[nodiscard]] bool definite_by_inspection() const;
  /// Whether A is sparse or small, upper triangular, and without a zero on its diagonal: elimination leaves
  /// such a matrix as it is.
  [[nodiscard]] bool upper_triangle();
  /// rank() if it was computed before, else empty.
  [[nodiscard]] std::optional<std::int64_t> known();
  /// Whether b is not zero in a row of zeros of a sparse A, or rank() is known and [A b] has a larger rank:
  /// then no x satisfies A x = b. `b`: A.rows() finite elements in host memory.
  [[nodiscard]] bool contradicts(const std::vector<T>& b);

 private:
  [[nodiscard]] std::optional<std::int64_t> find_rank();

  MatrixRef<T> A_;
  std::mutex mutex_;  // guards the members below
  bool computed_ = false;
  bool upper_triangle_ = false;
  std::optional<bool> regular_by_inspection_;
  std::optional<std::int64_t> rank_;
  Csr<T> host_;  // copy of A, if the rank was found by elimination
};

/// Complex matrices: nothing is known of them without rounding errors.
template <class T>
requires is_complex<T>
class ExactRank<T> {
 public:
  ExactRank() = default;
  explicit ExactRank(const MatrixRef<T>& A) : order_(std::min(A.rows(), A.columns())) {}

  [[nodiscard]] std::optional<std::int64_t> rank() { return std::nullopt; }
  [[nodiscard]] std::int64_t order() const { return order_; }
  [[nodiscard]] bool nonsingular() { return false; }
  [[nodiscard]] bool regular_by_inspection() { return false; }
  [[nodiscard]] bool definite_by_inspection() const { return false; }
  [[nodiscard]] bool upper_triangle() { return false; }
  [[nodiscard]] std::optional<std::int64_t> known() { return std::nullopt; }
  [[nodiscard]] bool contradicts(const std::vector<T>& /*b*/) { return false; }

 private:
  std::int64_t order_ = 0;
};

extern template class ExactRank<float>;
extern template class ExactRank<double>;

}  // namespace echelon
