// SPDX-License-Identifier: BSD-3-Clause
/// Classification of symmetric matrices by the excess of each diagonal element over the other magnitudes of
/// its row: Laplacians of graphs, and matrices that can be lifted to one.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "support/machine_epsilon.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>

namespace echelon {

enum class DominanceKind {
  laplacian,  ///< no positive off-diagonal element, all row sums zero
  sddm,       ///< no positive off-diagonal element, diagonally dominant
  sdd,        ///< diagonally dominant, with positive off-diagonal elements
  none,       ///< not symmetric, or not diagonally dominant
};

/// Facts about one or several rows. The excess of a row is a_ii - sum_j |a_ij|; it counts as zero if its
/// magnitude is within the rounding error of the row: eps times the row's length times its largest sum of
/// magnitudes.
struct DominanceFacts {
  FirstIndex deficient = {};   ///< first row whose excess is negative
  FirstIndex asymmetric = {};  ///< first row with an a_ij that differs from a_ji
  bool has_excess = false;
  bool has_positive = false;  ///< off the diagonal

  friend ECHELON_ANYWHERE DominanceFacts combine(DominanceFacts a, DominanceFacts b) {
    return {combine(a.deficient, b.deficient), combine(a.asymmetric, b.asymmetric),
            a.has_excess || b.has_excess, a.has_positive || b.has_positive};
  }
  [[nodiscard]] DominanceKind kind() const {
    if (deficient.value != FirstIndex::none || asymmetric.value != FirstIndex::none) {
      return DominanceKind::none;
    }
    if (has_positive) return DominanceKind::sdd;
    return has_excess ? DominanceKind::sddm : DominanceKind::laplacian;
  }
};

/// Computes the facts about row i except for its symmetry, and writes its excess.
template <class T>
struct ClassifyRow {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  T* excess;

  ECHELON_ANYWHERE DominanceFacts operator()(std::int64_t i) const {
    DominanceFacts facts;
    double diagonal = 0;
    double sum = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const double value = static_cast<double>(values[k]);
      if (columns[k] == i) {
        diagonal = value;
        continue;
      }
      if (value > 0) facts.has_positive = true;
      sum += value < 0 ? -value : value;
    }
    const double scale = diagonal > sum ? diagonal : sum;
    const double rounding = machine_epsilon<T> * scale * static_cast<double>(offsets[i + 1] - offsets[i]);
    const double difference = diagonal - sum;
    const bool significant = difference > rounding || difference < -rounding;
    excess[i] = significant ? static_cast<T>(difference) : T{0};
    facts.has_excess = difference > rounding;
    if (difference < -rounding) facts.deficient.value = i;
    return facts;
  }
};

/// Finds the first row with an a_ij that differs from a_ji by more than rounding errors relative to the row.
template <class T>
struct FindAsymmetry {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;

  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    double sum = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      sum += values[k] < T{0} ? -static_cast<double>(values[k]) : static_cast<double>(values[k]);
    }
    const double rounding = 4 * machine_epsilon<T> * sum;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const double gap = static_cast<double>(values[k]) - transposed(columns[k], i);
      if (gap > rounding || gap < -rounding) return {i};
    }
    return {};
  }

  /// a_ji, zero if it is not stored.
  ECHELON_ANYWHERE double transposed(std::int64_t j, std::int64_t i) const {
    std::int64_t low = offsets[j];
    std::int64_t high = offsets[j + 1];
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (columns[middle] < i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < offsets[j + 1] && columns[low] == i ? static_cast<double>(values[low]) : 0.0;
  }
};

/// Classifies a square, symmetric A and writes the excess of each row. Waits.
template <class B, class T>
DominanceFacts classify_rows(B& backend, const Csr<T>& A, T* excess) {
  Array<DominanceFacts> facts(backend.device(), 1);
  backend.reduce(A.rows(),
                 ClassifyRow<T>{A.row_offsets().data(), A.column_indices().data(), A.values().data(), excess},
                 Store<DominanceFacts>{facts.data()});
  return backend.read(facts.data());
}

/// Runs FindAsymmetry. Waits.
template <class B, class T>
FirstIndex find_asymmetry(B& backend, const Csr<T>& A) {
  Array<FirstIndex> found(backend.device(), 1);
  backend.reduce(A.rows(),
                 FindAsymmetry<T>{A.row_offsets().data(), A.column_indices().data(), A.values().data()},
                 Store<FirstIndex>{found.data()});
  return backend.read(found.data());
}

}  // namespace echelon
