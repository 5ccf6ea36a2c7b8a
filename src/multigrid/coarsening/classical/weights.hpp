// SPDX-License-Identifier: BSD-3-Clause
/// Weights of interpolation from coarse points, for single rows.
///
/// F are the fine points, C the coarse ones, and a superscript s marks the strong elements, all of which have
/// the sign opposite to that of their row's diagonal. Row i of the prolongation P is
///
///   direct:   w_ij = -a_ij / (a_ii + sum of the other elements with the sign of a_ii)
///                    * (sum of all elements with the other sign) / (sum of a^s_ik, k in C)
///
///   extended: w_ij = -(a^s_ij + sum_k f_k a^s_kj) / (a_ii + sum of weak a_in + sum_k f_k m_k),
///             f_k = a^s_ik / (beta_k + m_k), k in F, beta_k = sum of a^s_kl, l in C, where m_k is
///             0, a_ki, or the mean of a^s_kl, l in F, in the three variants.
///
/// In matrix form, extended interpolation is (D_w + D_m)^-1 (I + F) A^s_FC, a product of sparse matrices that
/// interpolates over distance 2. A constant is interpolated exactly where the sum of the row is zero.
/// Connections to isolated points are dropped, since relaxation leaves no error there.
/// R. Li, B. Sjögreen, U. M. Yang, A new class of AMG interpolation methods based on matrix-matrix
/// multiplications, SIAM J. Sci. Comput. 43, 2021 (extended+e and +i); K. Stüben, A review of algebraic
/// multigrid, J. Comput. Appl. Math. 128, 2001 (direct and multipass).
#pragma once

#include "multigrid/coarsening/classical/candidates.hpp"
#include "multigrid/coarsening/classical/independent_set.hpp"

#include <cstdint>

namespace echelon::multigrid::classical {

/// Variants of m_k in the formula of extended interpolation above.
enum class Extension {
  none,     ///< 0
  element,  ///< a_ki: "extended+i"
  mean,     ///< mean of a^s_kl over the strong fine neighbours l: "extended+e"
};

/// A matrix with its strong elements and the splitting of its points.
template <class T>
struct SplitMatrix {
  SparseRows<T> a;
  const std::uint8_t* strong;
  const std::int32_t* coarse_index;
};

/// View of A^s_FC in compressed rows, and of beta_k, beta_k + m_k and m_k for each row; m_k is left out with
/// Extension::element.
template <class T>
struct StrongCoarseView {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  const T* sums;
  const T* pivots;
  const T* shares;
};

/// Sums for the direct formula over the elements of a row.
struct DirectSums {
  double diagonal = 0;
  double positive = 0;  ///< sum of positive off-diagonal elements
  double negative = 0;  ///< sum of negative off-diagonal elements
  double used = 0;      ///< sum of the elements through which the row is interpolated

  /// Factor that turns these elements into weights.
  [[nodiscard]] ECHELON_ANYWHERE double scale() const {
    const double opposite = diagonal > 0 ? negative : positive;
    const double other = diagonal > 0 ? positive : negative;
    return -(opposite / used) / (diagonal + other);
  }
};

/// Adds element k of row i to the sums.
template <class T>
ECHELON_ANYWHERE void add_element(const SplitMatrix<T>& matrix, std::int64_t i, std::int64_t k,
                                  DirectSums& sums) {
  const std::int64_t j = matrix.a.column(k);
  const auto value = static_cast<double>(matrix.a.values[k]);
  if (j == i) {
    sums.diagonal = value;
  } else if (matrix.coarse_index[j] != isolated_index) {
    (value > 0 ? sums.positive : sums.negative) += value;
  }
}

/// Adds the candidates of direct interpolation for row i. False if their container is full.
template <class T, class C>
ECHELON_ANYWHERE bool interpolate_directly(const SplitMatrix<T>& matrix, std::int64_t i, C& candidates,
                                           RowFactors& factors) {
  DirectSums sums;
  for (std::int64_t k = matrix.a.begin(i); k < matrix.a.end(i); ++k) {
    add_element(matrix, i, k, sums);
    const std::int32_t coarse = matrix.coarse_index[matrix.a.column(k)];
    if (matrix.strong[k] == 0 || coarse < 0) continue;
    const auto value = static_cast<double>(matrix.a.values[k]);
    sums.used += value;
    if (!candidates.add(coarse, value)) return false;
  }
  factors.scale = sums.scale();
  return true;
}

/// Row formula of direct interpolation.
template <class T>
struct DirectRow {
  SplitMatrix<T> matrix;

  template <class C>
  ECHELON_ANYWHERE bool accumulate(std::int64_t i, C& candidates, RowFactors& factors) const {
    return interpolate_directly(matrix, i, candidates, factors);
  }
  /// Upper bound of the number of candidates.
  ECHELON_ANYWHERE std::int64_t bound(std::int64_t i) const { return matrix.a.end(i) - matrix.a.begin(i); }
};

/// Replacement of a strong fine point in a row: `own` is added to the row itself, and elements [begin, end)
/// of A^s_FC times `factor` to its candidates.
template <class T>
struct FinePointDistribution {
  double own = 0;
  double factor = 0;
  double strong_sum = 0;  ///< of these elements
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] ECHELON_ANYWHERE double sum() const { return rounded_product(factor, strong_sum); }
};

/// Row formula of extended interpolation.
template <class T>
struct ExtendedRow {
  SplitMatrix<T> matrix;
  StrongCoarseView<T> strong_coarse;
  Extension extension;

  template <class C>
  ECHELON_ANYWHERE bool accumulate(std::int64_t i, C& candidates, RowFactors& factors) const {
    double denominator = 0;
    for (std::int64_t k = matrix.a.begin(i); k < matrix.a.end(i); ++k) {
      const std::int64_t j = matrix.a.column(k);
      const std::int32_t coarse = matrix.coarse_index[j];
      const auto value = static_cast<double>(matrix.a.values[k]);
      if (j != i && coarse == isolated_index) continue;
      if (matrix.strong[k] == 0) {
        denominator += value;
      } else if (coarse >= 0) {
        if (!candidates.add(coarse, value)) return false;
        factors.sum += value;
      } else {
        const FinePointDistribution<T> part = distribution(i, j, value);
        denominator += part.own;
        factors.sum += part.sum();
        if (!add(part, candidates)) return false;
      }
    }
    factors.scale = -1 / denominator;
    factors.is_sum_known = true;
    return true;
  }
  ECHELON_ANYWHERE std::int64_t bound(std::int64_t i) const {
    std::int64_t count = 0;
    for (std::int64_t k = matrix.a.begin(i); k < matrix.a.end(i); ++k) {
      const std::int64_t j = matrix.a.column(k);
      if (matrix.strong[k] != 0) count += 1 + strong_coarse.offsets[j + 1] - strong_coarse.offsets[j];
    }
    return count;
  }

  /// Replacement of the value at the strong fine point j in row i by values at j's coarse points and at i
  /// itself.
  ECHELON_ANYWHERE FinePointDistribution<T> distribution(std::int64_t i, std::int64_t j, double value) const {
    auto pivot = static_cast<double>(strong_coarse.pivots[j]);
    double share = 0;
    if (extension == Extension::mean) share = static_cast<double>(strong_coarse.shares[j]);
    if (extension == Extension::element) {
      const auto back = static_cast<double>(matrix.a.at(j, i));
      share = back * pivot >= 0 ? back : 0;  // an element with the diagonal's sign could cancel the others
      pivot += share;
    }
    if (pivot == 0) return {.own = value};
    const double factor = value / pivot;
    return {rounded_product(factor, share), factor, static_cast<double>(strong_coarse.sums[j]),
            strong_coarse.offsets[j], strong_coarse.offsets[j + 1]};
  }

 private:
  template <class C>
  ECHELON_ANYWHERE bool add(const FinePointDistribution<T>& part, C& candidates) const {
    for (std::int64_t e = part.begin; e < part.end; ++e) {
      const auto weight = static_cast<double>(strong_coarse.values[e]);
      if (!candidates.add(strong_coarse.columns[e], rounded_product(part.factor, weight))) return false;
    }
    return true;
  }
};

/// Row formula of multipass interpolation: strong neighbours that were interpolated in earlier passes are
/// treated as coarse. The coarse points themselves have pass 0.
template <class T>
struct PassRow {
  SplitMatrix<T> matrix;
  PaddedView<T> rows;
  std::int32_t pass;
  const std::int32_t* passes;  ///< pass of each point, or not_interpolated

  static constexpr std::int32_t not_interpolated = INT32_MAX;

  template <class C>
  ECHELON_ANYWHERE bool accumulate(std::int64_t i, C& candidates, RowFactors& factors) const {
    if (!has_neighbour(i)) return true;
    DirectSums sums;
    for (std::int64_t k = matrix.a.begin(i); k < matrix.a.end(i); ++k) {
      add_element(matrix, i, k, sums);
      const std::int64_t j = matrix.a.column(k);
      if (matrix.strong[k] == 0 || passes[j] >= pass) continue;
      const auto value = static_cast<double>(matrix.a.values[k]);
      sums.used += value;
      const std::int64_t first = j * rows.width;
      for (std::int64_t e = first; e < first + rows.counts[j]; ++e) {
        const double weight = rounded_product(value, static_cast<double>(rows.values[e]));
        if (!candidates.add(rows.columns[e], weight)) return false;
      }
    }
    factors.scale = sums.scale();
    return true;
  }
  ECHELON_ANYWHERE std::int64_t bound(std::int64_t i) const {
    return (matrix.a.end(i) - matrix.a.begin(i)) * rows.width;
  }

 private:
  /// True if a strong neighbour was interpolated in an earlier pass.
  ECHELON_ANYWHERE bool has_neighbour(std::int64_t i) const {
    bool found = false;
    for (std::int64_t k = matrix.a.begin(i); k < matrix.a.end(i); ++k) {
      const bool is_early = passes[matrix.a.column(k)] < pass;  // loaded in any case: loads then overlap
      found = found || (matrix.strong[k] != 0 && is_early);
    }
    return found;
  }
};

/// Row formula of the product of two prolongations. Elements of the left factor whose row of the right factor
/// is empty are dropped, and the others are rescaled so that the sum of the row is unchanged.
template <class T>
struct ProductRow {
  PaddedView<T> left;
  PaddedView<T> right;

  template <class C>
  ECHELON_ANYWHERE bool accumulate(std::int64_t i, C& candidates, RowFactors& factors) const {
    double all = 0;
    double used = 0;
    bool is_complete = true;
    for (std::int64_t e = i * left.width; e < i * left.width + left.counts[i]; ++e) {
      const std::int64_t middle = left.columns[e];
      const auto weight = static_cast<double>(left.values[e]);
      all += weight;
      is_complete = is_complete && right.counts[middle] > 0;
      if (right.counts[middle] > 0) used += weight;
      const std::int64_t first = middle * right.width;
      for (std::int64_t f = first; f < first + right.counts[middle]; ++f) {
        const double product = rounded_product(weight, static_cast<double>(right.values[f]));
        if (!candidates.add(right.columns[f], product)) return false;
      }
    }
    factors.scale = is_complete ? 1 : all / used;
    return true;
  }
  ECHELON_ANYWHERE std::int64_t bound(std::int64_t) const { return left.width * right.width; }
};

}  // namespace echelon::multigrid::classical
