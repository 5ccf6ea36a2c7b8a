// SPDX-License-Identifier: BSD-3-Clause
/// Vectors that are constant on a connected component of a symmetric matrix and zero elsewhere: sums of rows,
/// formed without rounding error, decide which of them are null vectors.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "linalg/dominance.hpp"
#include "linalg/exact_sum.hpp"
#include "support/machine_epsilon.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace echelon {

/// Sum of a row, and what it is to be compared with.
struct RowSum {
  double sum = 0;
  double diagonal = 0;
  double magnitudes = 0;  ///< sum of |a_ij|
  double largest = 0;     ///< |a_ij|
  double rounding = 0;    ///< magnitude up to which the sum may be the rounding error of a diagonal element
  bool is_exact = true;
};

/// Sums row i.
template <class T>
struct SumRowExactly {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  ECHELON_ANYWHERE RowSum operator()(std::int64_t i) const {
    ExactSum sum;
    RowSum row;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const auto value = static_cast<double>(values[k]);
      const double magnitude = value < 0 ? -value : value;
      sum.add(value);
      row.magnitudes += magnitude;
      if (row.largest < magnitude) row.largest = magnitude;
      if (columns[k] == i) row.diagonal += value;
    }
    row.sum = sum.value();
    row.is_exact = sum.exact;
    row.rounding = machine_epsilon<T> * row.magnitudes * static_cast<double>(offsets[i + 1] - offsets[i]);
    return row;
  }
};

/// rows[i] = the sum of row i.
template <class T>
struct StoreRowSum {
  SumRowExactly<T> sum;
  RowSum* rows;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { rows[i] = sum(i); }
};

/// is_zero[i] = 1 if row i sums to zero up to rounding.
template <class T>
struct FindZeroRowSum {
  SumRowExactly<T> sum;
  std::uint8_t* is_zero;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const RowSum row = sum(i);
    is_zero[i] = row.sum <= row.rounding && -row.sum <= row.rounding ? 1 : 0;
  }
};

template <class T>
SumRowExactly<T> sum_rows_of(const Csr<T>& A) {
  return {A.row_offsets().data(), A.column_indices().data(), A.values().data()};
}

/// Sums the rows of A, in the memory of A. Queues its work without waiting.
template <class B, class T>
Array<RowSum> sum_rows_exactly(B& backend, const Csr<T>& A) {
  Array<RowSum> rows(backend.device(), A.rows());
  backend.for_each(A.rows(), StoreRowSum<T>{sum_rows_of(A), rows.data()});
  return rows;
}

/// The constant on a component, v, and A.
enum class ConstantMode {
  regular,  ///< A v is not small
  weak,  ///< A v is small but not zero, and v^T A v has the sign of the diagonal: A is not singular along v
  singular,  ///< A v = 0 exactly
  rounded,   ///< A v = 0 up to rounding
};

/// Largest ratio of the sum of all elements to that of their magnitudes with which a constant counts as weak.
inline double weak_level(double roundoff) {
  return std::min(std::sqrt(roundoff), 1e-5);
}

/// Sums over rows of a component.
struct ComponentSum {
  std::int64_t rows = 0;
  double diagonal = 0;
  double energy = 0;  ///< v^T A v for the v of ones
  double squares = 0;
  double magnitudes = 0;
  double largest = 0;
  std::int64_t positive = 0;  ///< number of row sums within rounding that are exact and positive
  std::int64_t negative = 0;
  std::int64_t inexact = 0;
  std::int64_t significantly_positive = 0;  ///< number of row sums beyond rounding
  std::int64_t significantly_negative = 0;

  ComponentSum() = default;
  ECHELON_ANYWHERE explicit ComponentSum(const RowSum& row)
      : rows(1),
        diagonal(row.diagonal),
        energy(row.sum),
        squares(row.sum * row.sum),
        magnitudes(row.magnitudes),
        largest(row.largest),
        inexact(row.is_exact ? 0 : 1) {
    if (row.sum > row.rounding) {
      significantly_positive = 1;
    } else if (row.sum < -row.rounding) {
      significantly_negative = 1;
    } else if (row.sum != 0) {
      (row.sum > 0 ? positive : negative) = 1;
    }
  }
  friend ECHELON_ANYWHERE ComponentSum combine(ComponentSum a, const ComponentSum& b) {
    a.rows += b.rows;
    a.diagonal += b.diagonal;
    a.energy += b.energy;
    a.squares += b.squares;
    a.magnitudes += b.magnitudes;
    a.largest = a.largest > b.largest ? a.largest : b.largest;
    a.positive += b.positive;
    a.negative += b.negative;
    a.inexact += b.inexact;
    a.significantly_positive += b.significantly_positive;
    a.significantly_negative += b.significantly_negative;
    return a;
  }

  /// Whether all elements of the rows are zero.
  [[nodiscard]] bool is_zero() const { return !(magnitudes > 0); }
  /// `roundoff`: the machine epsilon of A's elements.
  [[nodiscard]] ConstantMode mode(double roundoff) const {
    const bool sums_to_zero = positive + negative + significantly_positive + significantly_negative == 0;
    if (sums_to_zero && inexact == 0) return ConstantMode::singular;
    const bool flips = diagonal < 0;
    const std::int64_t above = flips ? significantly_negative : significantly_positive;
    const std::int64_t below = flips ? significantly_positive : significantly_negative;
    const bool has_one_sign =
        (flips ? positive : negative) + inexact == 0 && !may_be_rounding(flips ? negative : positive, rows);
    const bool is_known = below == 0 && (above > 0 || has_one_sign);
    const double signed_energy = flips ? -energy : energy;
    if (is_known && signed_energy > 0) {
      return signed_energy <= weak_level(roundoff) * magnitudes ? ConstantMode::weak : ConstantMode::regular;
    }
    const double limit = 1000 * roundoff * largest * std::sqrt(static_cast<double>(rows));
    return std::sqrt(squares) <= limit ? ConstantMode::rounded : ConstantMode::regular;
  }
};

/// Row i where it is in component c.
struct RowOfComponent {
  const RowSum* rows;
  const std::int32_t* component;
  std::int32_t c;
  ECHELON_ANYWHERE ComponentSum operator()(std::int64_t i) const {
    return component[i] == c ? ComponentSum(rows[i]) : ComponentSum();
  }
};

/// Sums of the `count` components; `component` has that of each row. Reads the rows once for each of few
/// components; those of many are summed on the host. Waits.
template <class B>
std::vector<ComponentSum> sum_components(B& backend, const Array<RowSum>& rows,
                                         const Array<std::int32_t>& component, std::int64_t count) {
  constexpr std::int64_t few = 8;
  std::vector<ComponentSum> sums(static_cast<std::size_t>(count));
  if (count <= few) {
    Array<ComponentSum> sum(backend.device(), 1);
    for (std::int64_t c = 0; c < count; ++c) {
      backend.reduce(rows.size(), RowOfComponent{rows.data(), component.data(), static_cast<std::int32_t>(c)},
                     Store<ComponentSum>{sum.data()});
      sums[static_cast<std::size_t>(c)] = backend.read(sum.data());
    }
    return sums;
  }
  const std::vector<RowSum> row = rows.to_vector();
  const std::vector<std::int32_t> component_of = component.to_vector();
  for (std::size_t i = 0; i < row.size(); ++i) {
    ComponentSum& sum = sums[static_cast<std::size_t>(component_of[i])];
    sum = combine(sum, ComponentSum(row[i]));
  }
  return sums;
}

}  // namespace echelon
