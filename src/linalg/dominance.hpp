// SPDX-License-Identifier: BSD-3-Clause
/// Classification of symmetric matrices by the excess of each diagonal element over the other magnitudes of
/// its row: Laplacians of graphs, and matrices that can be lifted to one.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "linalg/exact_sum.hpp"
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

/// Facts about one or several rows. The excess of a row is a_ii - sum_j |a_ij|, computed without rounding
/// error. It is significant if its magnitude exceeds the rounding error that a diagonal element computed as a
/// sum may have: eps times the row's length times its largest sum of magnitudes. The facts count any other
/// excess as zero.
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

/// Excess of a row that is not significant.
enum class SlightExcess : std::uint8_t {
  none,      ///< the excess is significant, or exactly zero
  positive,  ///< exactly known and positive
  rounding,  ///< negative or not exactly known: the row sums to zero only up to rounding
};

/// Whether the slight excesses of some rows of a component, none of which is negative, may be due to
/// rounding: those of most rows of a small component. In a large one chance does not give all the same sign.
ECHELON_ANYWHERE inline bool may_be_rounding(std::int64_t count, std::int64_t rows) {
  constexpr std::int64_t large = 64;
  constexpr std::int64_t part = 8;
  return rows < large && part * count > rows;
}

/// Excess of each row, and what is slight in it.
template <class T>
struct RowExcess {
  T* excess;             ///< with `slight` the exact one, otherwise zero where it is not significant
  SlightExcess* slight;  ///< may be null
};

/// Sums over elements of one row.
struct RowMagnitudes {
  double diagonal = 0;
  ExactSum others = {};  ///< magnitudes off the diagonal
  bool has_positive = false;

  friend ECHELON_ANYWHERE RowMagnitudes combine(const RowMagnitudes& a, const RowMagnitudes& b) {
    return {a.diagonal + b.diagonal, combine(a.others, b.others), a.has_positive || b.has_positive};
  }
  ECHELON_ANYWHERE void add(double value, bool is_diagonal) {
    if (is_diagonal) {
      diagonal += value;
      return;
    }
    others.add(value < 0 ? -value : value);
    has_positive = has_positive || value > 0;
  }
};

/// The facts about row i of the given length, except for its symmetry, and its excess.
template <class T>
ECHELON_ANYWHERE DominanceFacts classify_row(std::int64_t i, std::int64_t length, const RowMagnitudes& row,
                                             const RowExcess<T>& result) {
  DominanceFacts facts;
  const double others = row.others.value();
  const double scale = row.diagonal > others ? row.diagonal : others;
  const double rounding = machine_epsilon<T> * scale * static_cast<double>(length);
  ExactSum exact{-row.others.high, -row.others.low, row.others.exact};
  exact.add(row.diagonal);
  const double difference = exact.value();
  const bool significant = difference > rounding || difference < -rounding;
  result.excess[i] = significant || result.slight != nullptr ? static_cast<T>(difference) : T{0};
  if (result.slight != nullptr) {
    const bool known = exact.exact && difference >= 0;
    const SlightExcess rest = difference > 0 ? SlightExcess::positive : SlightExcess::none;
    result.slight[i] = significant ? SlightExcess::none : known ? rest : SlightExcess::rounding;
  }
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
  RowExcess<T> result;

  ECHELON_ANYWHERE DominanceFacts operator()(std::int64_t i) const {
    RowMagnitudes row;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      row.add(static_cast<double>(values[k]), columns[k] == i);
    }
    return classify_row(i, offsets[i + 1] - offsets[i], row, result);
  }
};

/// Contribution of element k to its row.
template <class T>
struct ElementMagnitudes {
  const std::int32_t* rows;
  const std::int32_t* columns;
  const T* values;
  ECHELON_ANYWHERE RowMagnitudes operator()(std::int64_t k) const {
    RowMagnitudes row;
    row.add(static_cast<double>(values[k]), columns[k] == rows[k]);
    return row;
  }
};
/// Classifies row i by its sums.
template <class T>
struct ClassifySums {
  const std::int64_t* offsets;
  const RowMagnitudes* sums;
  RowExcess<T> result;
  ECHELON_ANYWHERE DominanceFacts operator()(std::int64_t i) const {
    return classify_row(i, offsets[i + 1] - offsets[i], sums[i], result);
  }
};

/// Finds the first row with an a_ij that differs from a_ji by more than `units` rounding errors relative to
/// the row.
template <class T>
struct FindAsymmetry {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  double units = 4;

  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    double sum = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      sum += values[k] < T{0} ? -static_cast<double>(values[k]) : static_cast<double>(values[k]);
    }
    const double rounding = units * machine_epsilon<T> * sum;
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
DominanceFacts classify_rows(B& backend, const Csr<T>& A, const RowExcess<T>& result) {
  Array<DominanceFacts> facts(backend.device(), 1);
  const Store<DominanceFacts> store{facts.data()};
  const std::int64_t* const offsets = A.row_offsets().data();
  const std::int32_t* const columns = A.column_indices().data();
  const T* const values = A.values().data();
  if (backend.device().on_host()) {
    backend.reduce(A.rows(), ClassifyRow<T>{offsets, columns, values, result}, store);
    return backend.read(facts.data());
  }
  Array<RowMagnitudes> sums(backend.device(), A.rows());
  const Array<std::int32_t> rows = rows_of_elements(backend, A);
  backend.segmented_reduce(A.rows(), offsets, ElementMagnitudes<T>{rows.data(), columns, values},
                           sums.data());
  backend.reduce(A.rows(), ClassifySums<T>{offsets, sums.data(), result}, store);
  return backend.read(facts.data());
}

/// Writes zero for an excess that is not significant.
template <class B, class T>
DominanceFacts classify_rows(B& backend, const Csr<T>& A, T* excess) {
  return classify_rows(backend, A, RowExcess<T>{excess, nullptr});
}

/// Runs FindAsymmetry. Waits.
template <class B, class T>
FirstIndex find_asymmetry(B& backend, const Csr<T>& A, double units = 4) {
  Array<FirstIndex> found(backend.device(), 1);
  backend.reduce(
      A.rows(), FindAsymmetry<T>{A.row_offsets().data(), A.column_indices().data(), A.values().data(), units},
      Store<FirstIndex>{found.data()});
  return backend.read(found.data());
}

}  // namespace echelon
