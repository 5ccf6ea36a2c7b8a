// SPDX-License-Identifier: BSD-3-Clause
#include "solver/answer/exact_rank.hpp"

#include <echelon/rank_modulo.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace echelon {

namespace {

constexpr std::array<std::int64_t, 2> primes = {2147483647, 2147483629};

/// Largest number of operations of an elimination without regard to zeros: 0.3 s on one core.
constexpr double most_operations = 1e8;

bool is_small(std::int64_t rows, std::int64_t columns) {
  const auto m = static_cast<double>(rows);
  const auto n = static_cast<double>(columns);
  return m * n * std::min(m, n) <= most_operations;
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
  return n <= most_rows && n * below * (below + static_cast<double>(upper)) <= most_operations;
}

/// Triangular matrices without a zero on the diagonal.
enum class Triangle { none, lower, upper };

/// The kind of a matrix; diagonal ones count as upper.
template <class T>
Triangle regular_triangle(const Csr<T>& A) {
  if (A.rows() != A.columns()) return Triangle::none;
  bool lower = true;
  bool upper = true;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    bool diagonal = false;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int64_t j = A.column_indices()[k];
      if (A.values()[k] == T{0}) continue;
      lower = lower && j <= i;
      upper = upper && j >= i;
      diagonal = diagonal || j == i;
    }
    if (!diagonal || !(lower || upper)) return Triangle::none;
  }
  return upper ? Triangle::upper : Triangle::lower;
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

template <class T>
std::int64_t rank_by_elimination(const Csr<T>& A) {
  std::int64_t rank = 0;
  for (const std::int64_t prime : primes) {
    rank = std::max(rank, rank_modulo(MatrixRef<T>(A), prime));
    if (rank == std::min(A.rows(), A.columns())) break;
  }
  return rank;
}

}  // namespace

template <class T>
std::optional<std::int64_t> ExactRank<T>::find_rank() {
  if (A_.is_operator()) return std::nullopt;
  const bool small = is_small(A_.rows(), A_.columns() + 1);
  if (!small && !A_.is_sparse()) return std::nullopt;
  Csr<T> host = (A_.is_sparse() ? *A_.csr() : to_csr(A_)).to(Device::serial());
  const Triangle triangle = regular_triangle(host);
  upper_triangle_ = triangle == Triangle::upper;
  if (triangle != Triangle::none) return A_.rows();
  if (!small && !has_small_band(host)) return std::nullopt;
  host_ = std::move(host);
  return rank_by_elimination(host_);
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
std::optional<std::int64_t> ExactRank<T>::known() {
  const std::lock_guard lock(mutex_);
  return rank_;
}

template <class T>
bool ExactRank<T>::contradicts(const std::vector<T>& b) {
  const std::optional<std::int64_t> known = rank();
  if (!known || *known == A_.rows()) return false;
  const std::lock_guard lock(mutex_);
  return rank_by_elimination(augmented(host_, b)) > *known;
}

template class ExactRank<float>;
template class ExactRank<double>;

}  // namespace echelon
