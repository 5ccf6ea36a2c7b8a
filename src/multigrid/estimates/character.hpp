// SPDX-License-Identifier: BSD-3-Clause
/// Properties of a matrix that decide how it is coarsened.
#pragma once

#include "backend/store.hpp"
#include "backend/target.hpp"
#include "matrix/rows.hpp"
#include "support/hash.hpp"

#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

namespace echelon::multigrid {

/// Sums and extremes over the rows of a matrix.
struct MatrixCharacter {
  double same_sign =
      0;  ///< sum of off-diagonal magnitudes whose elements have the sign of the row's diagonal
  double off_diagonal = 0;  ///< sum of off-diagonal magnitudes
  double largest_diagonal = 0;
  double least_diagonal = HUGE_VAL;  ///< smallest diagonal magnitude other than zero
  Largest largest;                   ///< magnitude of all elements
  Largest largest_row_sum;           ///< in magnitude
  double row_sums = 0;               ///< sum of magnitudes
  std::int64_t zero_rows = 0;
  std::int64_t zero_diagonals = 0;  ///< in other rows
  std::uint64_t pattern = 0;        ///< a hash of all row and column indices

  /// Share of the off-diagonal magnitude with the sign of the diagonal: 0 for an M-matrix.
  [[nodiscard]] double same_sign_part() const { return off_diagonal > 0 ? same_sign / off_diagonal : 0; }
  friend ECHELON_ANYWHERE MatrixCharacter combine(const MatrixCharacter& a, const MatrixCharacter& b) {
    return {a.same_sign + b.same_sign,
            a.off_diagonal + b.off_diagonal,
            a.largest_diagonal > b.largest_diagonal ? a.largest_diagonal : b.largest_diagonal,
            a.least_diagonal < b.least_diagonal ? a.least_diagonal : b.least_diagonal,
            combine(a.largest, b.largest),
            combine(a.largest_row_sum, b.largest_row_sum),
            a.row_sums + b.row_sums,
            a.zero_rows + b.zero_rows,
            a.zero_diagonals + b.zero_diagonals,
            a.pattern + b.pattern};
  }
};

template <class T>
struct CharacteriseRow {
  SparseRows<T> A;
  ECHELON_ANYWHERE MatrixCharacter operator()(std::int64_t i) const {
    double positive = 0;
    double negative = 0;
    double diagonal = 0;
    Largest largest;
    std::uint64_t pattern = 0;
    std::uint64_t factor = golden_ratio_64;  // odd, another one for each element of a row
    for (std::int64_t k = A.begin(i); k < A.end(i); ++k) {
      const auto value = static_cast<double>(A.values[k]);
      pattern += static_cast<std::uint64_t>(A.column(k) + 1) * factor;
      factor += 2 * golden_ratio_64;
      largest = combine(largest, {std::fabs(value)});
      if (A.column(k) == i) {
        diagonal = value;
      } else if (value > 0) {
        positive += value;
      } else {
        negative -= value;
      }
    }
    const double magnitude = std::fabs(diagonal);
    return {diagonal < 0 ? negative : positive,
            positive + negative,
            magnitude,
            magnitude > 0 ? magnitude : HUGE_VAL,
            largest,
            {std::fabs(diagonal + positive - negative)},
            std::fabs(diagonal + positive - negative),
            positive + negative + magnitude == 0 ? 1 : 0,
            positive + negative > 0 && magnitude == 0 ? 1 : 0,
            hash_bits(pattern + static_cast<std::uint64_t>(i + 1) * golden_ratio_64)};
  }
};

/// Computes the character of A. Reads A once; waits.
template <class B, class T>
MatrixCharacter characterise(B& backend, const Csr<T>& A) {
  Array<MatrixCharacter> found(backend.device(), 1);
  backend.reduce(A.rows(), CharacteriseRow<T>{SparseRows<T>(A)}, Store<MatrixCharacter>{found.data()});
  return backend.read(found.data());
}

/// Counts the stored elements of a sampled node, and the elements that its nonzero blocks could hold.
template <class T>
struct BlockFill {
  SparseRows<T> A;
  std::int64_t block;
  std::int64_t stride;
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t sample) const {
    const std::int64_t first = sample * stride * block;
    double stored = 0;
    double blocks = 0;
    // Count a block in the first of its rows that stores an element of it.
    for (std::int64_t r = 0; r < block; ++r) {
      for (std::int64_t k = A.begin(first + r); k < A.end(first + r); ++k) {
        const std::int64_t column = A.column(k) / block;
        stored += 1;
        bool counted = k > A.begin(first + r) && A.column(k - 1) / block == column;
        for (std::int64_t above = 0; above < r && !counted; ++above) {
          const std::int64_t begin = A.begin(first + above);
          const std::int64_t end = A.end(first + above);
          const std::int64_t place = lower_bound(A.column_indices, begin, end, column * block);
          counted = place < end && A.column(place) / block == column;
        }
        if (!counted) blocks += 1;
      }
    }
    return {stored, blocks * static_cast<double>(block * block)};
  }
};

/// Estimates the number of unknowns per node of a system of equations: the largest b from 6 down to 2 that
/// divides the rows of A and for which nine tenths of the elements of nonzero b by b blocks are stored, in a
/// sample of nodes, fewer of them where rows are long; 1 if there is none. Waits.
template <class B, class T>
std::int64_t find_block_size(B& backend, const Csr<T>& A) {
  constexpr std::int64_t largest = 6;
  constexpr double full = 0.9;
  const std::int64_t row_length = A.nonzeros() / std::max<std::int64_t>(A.rows(), 1) + 1;
  const auto is_possible = [&A](std::int64_t block) {
    return A.rows() % block == 0 && A.rows() / block >= 2;
  };
  const auto sampling = [&A, row_length](std::int64_t block) {
    const std::int64_t nodes = A.rows() / block;
    constexpr std::int64_t sampled_elements = 1 << 18;
    const std::int64_t samples = std::clamp<std::int64_t>(sampled_elements / (row_length * block), 128, 4096);
    const std::int64_t stride = std::max<std::int64_t>(nodes / samples, 1);
    return std::pair(stride, nodes / stride);
  };
  using Fills = std::array<TwoSums, largest + 1>;  // by block size
  Array<TwoSums> sums(backend.device(), largest + 1);
  for (std::int64_t block = largest; block > 1; --block) {
    if (!is_possible(block)) continue;
    const auto [stride, sampled] = sampling(block);
    backend.reduce(sampled, BlockFill<T>{SparseRows<T>(A), block, stride},
                   Store<TwoSums>{sums.data() + block});
  }
  const Fills fills = backend.read(reinterpret_cast<const Fills*>(sums.data()));
  for (std::int64_t block = largest; block > 1; --block) {
    if (!is_possible(block)) continue;
    const TwoSums found = fills[static_cast<std::size_t>(block)];
    // A block-diagonal matrix is not a discretised system: require blocks off the diagonal.
    const bool coupled = found.first > static_cast<double>(block * block * sampling(block).second);
    if (coupled && found.first >= full * found.second) return block;
  }
  return 1;
}

}  // namespace echelon::multigrid
