// SPDX-License-Identifier: BSD-3-Clause
#include "solver/selection/dense_structure.hpp"

#include "backend/backend.hpp"
#include "backend/host/host.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace echelon {

namespace {

/// Rows and columns of the squares that are compared with their mirror images in the cache.
constexpr std::int64_t side = 64;

struct MirroredPair {
  double largest = 0;         // |a_ij|
  double half_asymmetry = 0;  // |a_ij - a_ji| / 2
  bool unequal = false;
  bool minor_negative = false;

  void add(const MirroredPair& other) {
    largest = std::max(largest, other.largest);
    half_asymmetry = std::max(half_asymmetry, other.half_asymmetry);
    unequal |= other.unequal;
    minor_negative |= other.minor_negative;
  }
};

/// sqrt(|a_ii|), whose products stay within the range.
template <class T>
std::vector<double> roots_of_diagonal(DenseView<const T> A) {
  std::vector<double> roots;
  for (std::int64_t i = 0; i < A.rows(); ++i)
    roots.push_back(std::sqrt(std::abs(static_cast<double>(A(i, i)))));
  return roots;
}

/// Compares the elements (i, j) and (j, i) of the rows from `top` on and the columns from `first` on, i > j.
template <class T>
MirroredPair compare_square(DenseView<const T> A, const double* roots, std::int64_t top, std::int64_t first) {
  constexpr double rounding = 1 + 8 * static_cast<double>(std::numeric_limits<T>::epsilon());
  const std::int64_t n = A.rows();
  MirroredPair facts;
  for (std::int64_t j = first; j < std::min(first + side, n); ++j) {
    const double bound = rounding * roots[j];
    for (std::int64_t i = std::max(top, j + 1); i < std::min(top + side, n); ++i) {
      const auto below = static_cast<double>(A(i, j));
      const auto above = static_cast<double>(A(j, i));
      facts.largest = std::max({facts.largest, std::abs(below), std::abs(above)});
      facts.half_asymmetry = std::max(facts.half_asymmetry, std::abs(below / 2 - above / 2));
      facts.unequal |= below != above;
      facts.minor_negative |= std::abs(below) > bound * roots[i];
    }
  }
  return facts;
}

template <class T>
MirroredPair compare_pairs(DenseView<const T> A) {
  const std::int64_t squares = (A.rows() + side - 1) / side;
  const auto count = static_cast<std::size_t>(squares);
  const std::vector<double> roots = roots_of_diagonal(A);
  std::vector<MirroredPair> of_row(count);
  constexpr std::int64_t rows_for_threads = 256;
  Host backend{Device()};
  backend.parallel(A.rows() > rows_for_threads, [&](int part, int parts) {
    for (std::int64_t row = part; row < squares; row += parts) {
      for (std::int64_t column = 0; column <= row; ++column)
        of_row[static_cast<std::size_t>(row)].add(compare_square(A, roots.data(), row * side, column * side));
    }
  });
  MirroredPair all;
  for (const MirroredPair& facts : of_row) all.add(facts);
  return all;
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
    s.largest_magnitude = std::max(s.largest_magnitude, std::abs(static_cast<double>(A(i, i))));
  }
  const MirroredPair facts = compare_pairs(A);
  s.largest_magnitude = std::max(s.largest_magnitude, facts.largest);
  s.symmetric_values = !facts.unequal;
  s.asymmetry = facts.half_asymmetry == 0 ? 0 : 2 * (facts.half_asymmetry / s.largest_magnitude);
  const bool mixed = s.positive_diagonals > 0 && has_negative;
  if (facts.minor_negative || mixed) s.definiteness = Definiteness::indefinite;
  return s;
}

template Structure structure_of_dense(DenseView<const float>);
template Structure structure_of_dense(DenseView<const double>);

}  // namespace echelon
