// SPDX-License-Identifier: BSD-3-Clause
/// Classification of symmetric matrices by the excess of each diagonal element over the other magnitudes of
/// its row: Laplacians of graphs, and matrices that can be lifted to one.
#pragma once

#include "backend/backend.hpp"
#include "backend/lower_bound.hpp"
#include "backend/store.hpp"
#include "linalg/magnitudes.hpp"
#include "linalg/rows_of_elements.hpp"
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

/// Sums over elements of one row.
struct RowMagnitudes {
  double diagonal = 0;
  double others = 0;  ///< magnitudes off the diagonal
  bool has_positive = false;

  friend ECHELON_ANYWHERE RowMagnitudes combine(RowMagnitudes a, RowMagnitudes b) {
    return {a.diagonal + b.diagonal, a.others + b.others, a.has_positive || b.has_positive};
  }
};
template <class T>
ECHELON_ANYWHERE RowMagnitudes magnitudes_of(T element, bool is_diagonal) {
  const auto value = static_cast<double>(element);
  if (is_diagonal) return {value, 0, false};
  return {0, value < 0 ? -value : value, value > 0};
}

/// The facts about row i of the given length, except for its symmetry, and its excess.
template <class T>
ECHELON_ANYWHERE DominanceFacts classify_row(std::int64_t i, std::int64_t length, const RowMagnitudes& row,
                                             T* excess) {
  DominanceFacts facts;
  const double scale = row.diagonal > row.others ? row.diagonal : row.others;
  const double rounding = machine_epsilon<T> * scale * static_cast<double>(length);
  const double difference = row.diagonal - row.others;
  const bool significant = difference > rounding || difference < -rounding;
  excess[i] = significant ? static_cast<T>(difference) : T{0};
  facts.has_positive = row.has_positive;
  facts.has_excess = difference > rounding;
  if (difference < -rounding) facts.deficient.value = i;
  return facts;
}

/// Classifies row i, which it reads.
template <class T>
struct ClassifyRow {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  T* excess;

  ECHELON_ANYWHERE DominanceFacts operator()(std::int64_t i) const {
    const std::int64_t begin = offsets[i];
    const std::int64_t end = offsets[i + 1];
    const std::int64_t place = lower_bound(columns, begin, end, i);
    const bool has_diagonal = place < end && columns[place] == i;
    const Magnitudes before = sum_magnitudes(values, begin, place);
    const Magnitudes after = sum_magnitudes(values, has_diagonal ? place + 1 : place, end);
    const RowMagnitudes row{has_diagonal ? static_cast<double>(values[place]) : 0, before.sum + after.sum,
                            before.has_positive || after.has_positive};
    return classify_row(i, end - begin, row, excess);
  }
};

/// Contribution of element k to its row.
template <class T>
struct ElementMagnitudes {
  const std::int32_t* rows;
  const std::int32_t* columns;
  const T* values;
  ECHELON_ANYWHERE RowMagnitudes operator()(std::int64_t k) const {
    return magnitudes_of(values[k], columns[k] == rows[k]);
  }
};
/// Classifies row i by its sums.
template <class T>
struct ClassifySums {
  const std::int64_t* offsets;
  const RowMagnitudes* sums;
  T* excess;
  ECHELON_ANYWHERE DominanceFacts operator()(std::int64_t i) const {
    return classify_row(i, offsets[i + 1] - offsets[i], sums[i], excess);
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

/// Classifies a square, symmetric A and writes the excess of each row. On a GPU, several threads sum a row:
/// one alone would take long for the longest row. Waits.
template <class B, class T>
DominanceFacts classify_rows(B& backend, const Csr<T>& A, T* excess) {
  Array<DominanceFacts> facts(backend.device(), 1);
  const Store<DominanceFacts> store{facts.data()};
  const std::int64_t* const offsets = A.row_offsets().data();
  const std::int32_t* const columns = A.column_indices().data();
  const T* const values = A.values().data();
  if (backend.device().on_host()) {
    backend.reduce(A.rows(), ClassifyRow<T>{offsets, columns, values, excess}, store);
    return backend.read(facts.data());
  }
  Array<RowMagnitudes> sums(backend.device(), A.rows());
  const Array<std::int32_t> rows = rows_of_elements(backend, A);
  backend.segmented_reduce(A.rows(), offsets, ElementMagnitudes<T>{rows.data(), columns, values},
                           sums.data());
  backend.reduce(A.rows(), ClassifySums<T>{offsets, sums.data(), excess}, store);
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
