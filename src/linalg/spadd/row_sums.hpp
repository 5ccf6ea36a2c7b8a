// SPDX-License-Identifier: BSD-3-Clause
/// Sums of sparse matrices row by row, in the loops of any backend. Each row merges those of A and B.
#pragma once

#include "backend/atomic.hpp"
#include "backend/backend.hpp"
#include "backend/rounded.hpp"
#include "linalg/spadd/sum.hpp"
#include "matrix/rows.hpp"

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>

#include <cstdint>

namespace echelon {

namespace row_sums {

/// Two scaled operands.
template <class T>
struct Operands {
  SparseRows<T> a, b;
  T alpha, beta;

  Operands(const ScaledCsr<T>& A, const ScaledCsr<T>& B)
      : a(A.matrix), b(B.matrix), alpha(A.factor), beta(B.factor) {}
  /// The element of the sum to which element k of a and element l of b contribute, or one of them and none.
  [[nodiscard]] ECHELON_ANYWHERE T value(std::int64_t k, std::int64_t l) const {
    if (l == none) return rounded_product(alpha, a.values[k]);
    if (k == none) return rounded_product(beta, b.values[l]);
    return rounded_sum(rounded_product(alpha, a.values[k]), rounded_product(beta, b.values[l]));
  }

  static constexpr std::int64_t none = -1;

  /// Merges rows i: f(column, k, l) for each column that a or b stores, ascending.
  template <class F>
  ECHELON_ANYWHERE void merge(std::int64_t i, F f) const {
    std::int64_t k = a.begin(i);
    std::int64_t l = b.begin(i);
    const std::int64_t k_end = a.end(i);
    const std::int64_t l_end = b.end(i);
    while (k < k_end && l < l_end) {
      const std::int32_t j = a.column_indices[k];
      const std::int32_t m = b.column_indices[l];
      if (j == m) {
        f(j, k++, l++);
      } else if (j < m) {
        f(j, k++, none);
      } else {
        f(m, none, l++);
      }
    }
    for (; k < k_end; ++k) f(a.column_indices[k], k, none);
    for (; l < l_end; ++l) f(b.column_indices[l], none, l);
  }
};

template <class T>
struct CountRow {
  Operands<T> operands;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t count = 0;
    operands.merge(i, [&](std::int32_t, std::int64_t, std::int64_t) { ++count; });
    counts[i] = count;
  }
};

/// Writes the columns of a row and, unless null, its values.
template <class T>
struct WriteRow {
  Operands<T> operands;
  const std::int64_t* offsets;
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t target = offsets[i];
    operands.merge(i, [&](std::int32_t column, std::int64_t k, std::int64_t l) {
      columns[target] = column;
      if (values != nullptr) values[target] = operands.value(k, l);
      ++target;
    });
  }
};

/// Writes the values of a row of a known pattern; sets *is_other if the row has other columns.
template <class T>
struct UpdateRow {
  Operands<T> operands;
  const std::int64_t* offsets;
  const std::int32_t* columns;
  T* values;
  std::int32_t* is_other;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t e = offsets[i];
    const std::int64_t end = offsets[i + 1];
    bool is_known = true;
    operands.merge(i, [&](std::int32_t column, std::int64_t k, std::int64_t l) {
      is_known = is_known && e < end && columns[e] == column;
      if (is_known) values[e++] = operands.value(k, l);
    });
    if (!is_known || e != end) atomic_store(is_other, 1);
  }
};

}  // namespace row_sums

/// sum_on for a backend. `for_each_row(work, f)` calls f(i) for each row, where `work` is the number of
/// elements and rows.
template <class B, class T, class ForEachRow>
SumArrays<T> sum_by_rows(B& backend, const ScaledCsr<T>& A, const ScaledCsr<T>& B_, bool with_values,
                         const ForEachRow& for_each_row) {
  const Device& device = backend.device();
  const std::int64_t rows = A.matrix.rows();
  const std::int64_t work = rows + A.matrix.nonzeros() + B_.matrix.nonzeros();
  const row_sums::Operands<T> operands(A, B_);
  SumArrays<T> sum{Array<std::int64_t>(device, rows + 1), {}, {}};
  std::int64_t* const offsets = sum.row_offsets.data();
  for_each_row(work, row_sums::CountRow<T>{operands, offsets});
  const std::int64_t nonzeros = backend.exclusive_scan(rows, offsets, offsets);
  sum.column_indices = Array<std::int32_t>(device, nonzeros);
  if (with_values) sum.values = Array<T>(device, nonzeros);
  for_each_row(work, row_sums::WriteRow<T>{operands, offsets, sum.column_indices.data(), sum.values.data()});
  return sum;
}

/// update_sum_on for a backend, likewise. Waits.
template <class B, class T, class ForEachRow>
bool update_sum_by_rows(B& backend, const ScaledCsr<T>& A, const ScaledCsr<T>& B_,
                        const Array<std::int64_t>& row_offsets, const Array<std::int32_t>& column_indices,
                        T* values, const ForEachRow& for_each_row) {
  Array<std::int32_t> is_other(backend.device(), 1);
  backend.write(std::int32_t{0}, is_other.data());
  for_each_row(A.matrix.rows() + A.matrix.nonzeros() + B_.matrix.nonzeros(),
               row_sums::UpdateRow<T>{row_sums::Operands<T>(A, B_), row_offsets.data(), column_indices.data(),
                                      values, is_other.data()});
  return backend.read(is_other.data()) == 0;
}

}  // namespace echelon
