// SPDX-License-Identifier: BSD-3-Clause
#include "exact/exact_rank.hpp"

#include "exact/decide_rank.hpp"
#include "exact/inspection/regular.hpp"
#include "matrix/host_copy.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/rank_modulo.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// The larger rank modulo two primes; modulo the first one if that exceeds `enough`.
template <class T>
std::int64_t rank_modulo_primes(const MatrixRef<T>& A, std::int64_t enough) {
  constexpr std::array<std::int64_t, 2> primes = {2130365093, 2057979991};
  const std::int64_t rank = rank_modulo(A, primes[0]);
  return rank > enough ? rank : std::max(rank, rank_modulo(A, primes[1]));
}

/// Whether the elimination of a band without regard to zeros in it is as cheap. The number of its rounds
/// grows with the number of rows.
template <class T>
bool has_small_band(const Csr<T>& A) {
  constexpr double most_rows = 1e5;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    const std::int64_t begin = A.row_offsets()[i];
    const std::int64_t end = A.row_offsets()[i + 1];
    if (begin == end) continue;
    lower = std::max(lower, i - A.column_indices()[begin]);
    upper = std::max(upper, A.column_indices()[end - 1] - i);
  }
  const auto n = static_cast<double>(A.rows());
  const auto below = static_cast<double>(lower + 1);
  return n <= most_rows && n * below * (below + static_cast<double>(upper)) / 3 <= most_exact_operations;
}

/// The matrix [A b].
template <class T>
Csr<T> augmented(const Csr<T>& A, const std::vector<T>& b) {
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  std::vector<T> values;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      columns.push_back(A.column_indices()[k]);
      values.push_back(A.values()[k]);
    }
    columns.push_back(static_cast<std::int32_t>(A.columns()));
    values.push_back(b[static_cast<std::size_t>(i)]);
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  const Device host = Device::serial();
  return Csr<T>(A.rows(), A.columns() + 1, Array<std::int64_t>(host, std::span<const std::int64_t>(offsets)),
                Array<std::int32_t>(host, std::span<const std::int32_t>(columns)),
                Array<T>(host, std::span<const T>(values)));
}

/// Whether b is not zero in a row of zeros.
template <class T>
bool contradicts_zero_row(const Csr<T>& A, const std::vector<T>& b) {
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    const T* const begin = A.values().data() + A.row_offsets()[i];
    const T* const end = A.values().data() + A.row_offsets()[i + 1];
    const bool is_zero = std::all_of(begin, end, [](T value) { return value == T{0}; });
    if (is_zero && b[static_cast<std::size_t>(i)] != T{0}) return true;
  }
  return false;
}

}  // namespace

template <class T>
Dense<T> copy_for_exact_rank(DenseView<const T> A) {
  const bool cheap = dense_operations(A.rows(), A.columns()) <= most_exact_operations;
  const bool decides = cheap || (A.device().on_host() && is_regular_by_inspection(MatrixRef<T>(A)));
  return decides ? to_dense(MatrixRef<T>(A)) : Dense<T>();
}

template <class T>
std::optional<std::int64_t> decide_rank(const MatrixRef<T>& A, const NumericalRank& found,
                                        double operations) {
  const std::int64_t full = std::min(A.rows(), A.columns());
  const bool decided = found.rank == full && !found.doubtful;
  if (decided && !A.device().on_host()) return std::nullopt;
  const HostCopy<T> host(A);
  if (regular_triangle(host.matrix())) return full;
  if (decided) return std::nullopt;
  if (is_chained_dominant(host.matrix())) return full;
  if (operations > most_exact_operations) return std::nullopt;
  const Csr<T> copy = A.is_sparse() ? Csr<T>() : to_csr(host.matrix());
  const MatrixRef<T> sparse = A.is_sparse() ? host.matrix() : MatrixRef<T>(copy);
  const std::int64_t exact = rank_modulo_primes(sparse, found.doubtful ? full - 1 : found.rank);
  if (exact > found.rank && !found.doubtful) return std::nullopt;
  return exact;
}

template <class T>
std::optional<std::int64_t> ExactRank<T>::find_rank() {
  if (A_.is_operator()) return std::nullopt;
  const bool small = dense_operations(A_.rows(), A_.columns() + 1) <= most_exact_operations;
  if (!small && !A_.is_sparse()) return std::nullopt;
  Csr<T> host = (A_.is_sparse() ? *A_.csr() : to_csr(A_)).to(Device::serial());
  const std::optional<TriangularShape> triangle = regular_triangle(MatrixRef<T>(host));
  upper_triangle_ = triangle && triangle->upper;
  if (!regular_by_inspection_) regular_by_inspection_ = triangle || is_chained_dominant(MatrixRef<T>(host));
  if (*regular_by_inspection_) return A_.rows();
  if (!small && !has_small_band(host)) return std::nullopt;
  host_ = std::move(host);
  return rank_modulo_primes(MatrixRef<T>(host_), order() - 1);
}

template <class T>
std::optional<std::int64_t> ExactRank<T>::rank() {
  const std::lock_guard lock(mutex_);
  if (!computed_) rank_ = find_rank();
  computed_ = true;
  return rank_;
}

template <class T>
bool ExactRank<T>::upper_triangle() {
  static_cast<void>(rank());
  const std::lock_guard lock(mutex_);
  return upper_triangle_;
}

template <class T>
bool ExactRank<T>::regular_by_inspection() {
  const std::lock_guard lock(mutex_);
  if (!regular_by_inspection_) regular_by_inspection_ = is_regular_by_inspection(A_);
  return *regular_by_inspection_;
}

template <class T>
bool ExactRank<T>::definite_by_inspection() const {
  return is_definite_by_inspection(A_);
}

template <class T>
std::optional<std::int64_t> ExactRank<T>::known() {
  const std::lock_guard lock(mutex_);
  return rank_;
}

template <class T>
bool ExactRank<T>::contradicts(const std::vector<T>& b) {
  if (A_.is_sparse() && contradicts_zero_row(*HostCopy<T>(A_).matrix().csr(), b)) return true;
  const std::optional<std::int64_t> known = rank();
  if (!known || *known == A_.rows()) return false;
  const std::lock_guard lock(mutex_);
  const Csr<T> with_b = augmented(host_, b);
  return rank_modulo_primes(MatrixRef<T>(with_b), *known) > *known;
}

template Dense<float> copy_for_exact_rank(DenseView<const float>);
template Dense<double> copy_for_exact_rank(DenseView<const double>);
template std::optional<std::int64_t> decide_rank(const MatrixRef<float>&, const NumericalRank&, double);
template std::optional<std::int64_t> decide_rank(const MatrixRef<double>&, const NumericalRank&, double);

template class ExactRank<float>;
template class ExactRank<double>;

}  // namespace echelon
