// SPDX-License-Identifier: BSD-3-Clause
#include "solver/selection/structure/dense_structure.hpp"

#include "backend/backend.hpp"
#include "backend/host/host.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace echelon {

namespace {

/// Rows and columns of the squares that are compared with their mirror images in the cache.
constexpr std::int64_t side = 64;

/// Facts about pairs a_ij, a_ji.
struct MirroredPair {
  bool unequal = false;
  bool minor_negative = false;
};

/// sqrt(|a_ii|), whose products stay within the range.
template <class T>
std::vector<double> roots_of_diagonal(DenseView<const T> A) {
  std::vector<double> roots;
  for (std::int64_t i = 0; i < A.rows(); ++i)
    roots.push_back(std::sqrt(std::abs(static_cast<double>(A(i, i)))));
  return roots;
}

/// A square below the diagonal, or on it, and its mirror image. Rows and columns may change places.
template <class T>
class Squares {
 public:
  Squares(DenseView<const T> A, std::int64_t row, std::int64_t column)
      : below_(A.data() + row * side + column * side * A.leading()),
        above_(A.data() + column * side + row * side * A.leading()),
        leading_(A.leading()),
        rows_(std::min(side, A.rows() - row * side)),
        columns_(std::min(side, A.rows() - column * side)) {}

  /// Compares the two; `row_roots` and `column_roots` begin with those of the first row and column.
  [[nodiscard]] MirroredPair compare(const double* row_roots, const double* column_roots) const {
    constexpr double rounding = 1 + 8 * static_cast<double>(std::numeric_limits<T>::epsilon());
    std::array<T, static_cast<std::size_t>(side * side)> mirror;
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t j = 0; j < columns_; ++j)
        mirror[static_cast<std::size_t>(j * side + i)] = above_[j + i * leading_];
    }
    // Counts of 64 bits, as the elements have, are vectorised.
    std::int64_t unequal = 0;
    std::int64_t negative = 0;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const double bound = rounding * column_roots[j];
      const T* const below = below_ + j * leading_;
      const T* const above = mirror.data() + j * side;
      for (std::int64_t i = 0; i < rows_; ++i) {
        unequal += below[i] != above[i] ? 1 : 0;
        negative += std::abs(static_cast<double>(below[i])) > bound * row_roots[i] ? 1 : 0;
      }
    }
    return {unequal > 0, negative > 0};
  }

  /// Adds max |a_ij| and max |a_ij - a_ji| / 2.
  void measure(double& largest, double& half_asymmetry) const {
    for (std::int64_t j = 0; j < columns_; ++j) {
      for (std::int64_t i = 0; i < rows_; ++i) {
        const auto below = static_cast<double>(below_[i + j * leading_]);
        const auto above = static_cast<double>(above_[j + i * leading_]);
        largest = std::max({largest, std::abs(below), std::abs(above)});
        half_asymmetry = std::max(half_asymmetry, std::abs(below / 2 - above / 2));
      }
    }
  }

 private:
  const T* below_;
  const T* above_;
  std::int64_t leading_;
  std::int64_t rows_;
  std::int64_t columns_;
};

/// Calls f(row, column) for all squares on and below the diagonal while it returns true.
template <class F>
void for_each_square(std::int64_t n, const F& f) {
  const std::int64_t squares = (n + side - 1) / side;
  constexpr std::int64_t rows_for_threads = 256;
  std::atomic<bool> ended = false;
  Host backend{Device()};
  backend.parallel(n > rows_for_threads, [&](int part, int parts) {
    for (std::int64_t row = part; row < squares; row += parts) {
      for (std::int64_t column = 0; column <= row && !ended.load(std::memory_order_relaxed); ++column) {
        if (!f(row, column)) ended = true;
      }
    }
  });
}

template <class T>
MirroredPair compare_pairs(DenseView<const T> A) {
  const std::vector<double> roots = roots_of_diagonal(A);
  std::atomic<bool> unequal = false;
  std::atomic<bool> negative = false;
  for_each_square(A.rows(), [&](std::int64_t row, std::int64_t column) {
    const MirroredPair facts =
        Squares<T>(A, row, column).compare(roots.data() + row * side, roots.data() + column * side);
    if (facts.minor_negative) negative = true;
    if (facts.unequal) unequal = true;
    return !facts.unequal;
  });
  return {unequal, negative};
}

/// max |a_ij - a_ji| / max |a_ij|, or infinity if the first rows and columns show that it is not slight.
template <class T>
double asymmetry_of(DenseView<const T> A) {
  constexpr double slight = 1e-6;
  double largest = 0;
  double half_asymmetry = 0;
  const std::int64_t squares = (A.rows() + side - 1) / side;
  for (std::int64_t row = 0; row < squares; ++row) {
    for (std::int64_t column = 0; column <= row; ++column)
      Squares<T>(A, row, column).measure(largest, half_asymmetry);
    if (half_asymmetry > slight * largest) return std::numeric_limits<double>::infinity();
  }
  return 2 * (half_asymmetry / largest);
}

}  // namespace

template <class T>
Structure structure_of_dense(DenseView<const T> A) {
  Structure s;
  s.rows = A.rows();
  s.columns = A.columns();
  s.nonzeros = A.rows() * A.columns();
  s.symmetric_pattern = true;
  bool has_negative = false;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    s.zero_diagonals += A(i, i) == 0 ? 1 : 0;
    s.positive_diagonals += A(i, i) > 0 ? 1 : 0;
    has_negative |= A(i, i) < 0;
  }
  const MirroredPair facts = compare_pairs(A);
  s.symmetric_values = !facts.unequal;
  s.asymmetry = facts.unequal ? asymmetry_of(A) : 0;
  const bool mixed = s.positive_diagonals > 0 && has_negative;
  if (facts.minor_negative || mixed) s.definiteness = Definiteness::indefinite;
  return s;
}

template Structure structure_of_dense(DenseView<const float>);
template Structure structure_of_dense(DenseView<const double>);

}  // namespace echelon
