// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"

#include "backend/targets.hpp"
#include "linalg/dynamic_rows.hpp"
#include "linalg/spadd/sum.hpp"
#include "matrix/rows.hpp"

#include <atomic>
#include <cstdint>

namespace echelon {

namespace {

template <class T>
struct ScaledRows {
  T factor;
  SparseRows<T> rows;
  [[nodiscard]] T value(std::int64_t k) const { return factor * rows.values[k]; }
};

/// Merges two rows: f(column, k, l) for each column that a or b stores, ascending. k is the element of a and
/// l that of b, or none.
constexpr std::int64_t none = -1;
template <class T, class F>
void merge_rows(const SparseRows<T>& a, const SparseRows<T>& b, std::int64_t i, F f) {
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

template <class T>
T sum_of(const ScaledRows<T>& a, const ScaledRows<T>& b, std::int64_t k, std::int64_t l) {
  if (l == none) return a.value(k);
  if (k == none) return b.value(l);
  return a.value(k) + b.value(l);
}

template <class T>
std::int64_t count_row(const SparseRows<T>& a, const SparseRows<T>& b, std::int64_t i) {
  std::int64_t count = 0;
  merge_rows(a, b, i, [&](std::int32_t, std::int64_t, std::int64_t) { ++count; });
  return count;
}

/// Computes the row's values. False if its columns are not the `count` expected ones.
template <class T>
bool update_row(const ScaledRows<T>& a, const ScaledRows<T>& b, std::int64_t i, const std::int32_t* columns,
                std::int64_t count, T* values) {
  std::int64_t e = 0;
  bool is_known = true;
  merge_rows(a.rows, b.rows, i, [&](std::int32_t column, std::int64_t k, std::int64_t l) {
    is_known = is_known && e < count && columns[e] == column;
    if (is_known) values[e++] = sum_of(a, b, k, l);
  });
  return is_known && e == count;
}

}  // namespace

template <class Target, class T>
SumArrays<T> sum_on(ScaledCsr<T> A, ScaledCsr<T> B, bool with_values) {
  const ScaledRows<T> a{A.factor, SparseRows<T>(A.matrix)};
  const ScaledRows<T> b{B.factor, SparseRows<T>(B.matrix)};
  const Device& device = A.matrix.device();
  const std::int64_t rows = A.matrix.rows();
  SumArrays<T> sum{Array<std::int64_t>(device, rows + 1), {}, {}};
  const std::int64_t work = rows + A.matrix.nonzeros() + B.matrix.nonzeros();
  std::int64_t* offsets = sum.row_offsets.data();
  for_dynamic_rows(device.threads(), rows, work, [&](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) offsets[i] = count_row(a.rows, b.rows, i);
  });
  const std::int64_t nonzeros = Host(device).exclusive_scan(rows, offsets, offsets);
  sum.column_indices = Array<std::int32_t>(device, nonzeros);
  if (with_values) sum.values = Array<T>(device, nonzeros);
  for_dynamic_rows(device.threads(), rows, work, [&](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t target = offsets[i];
      merge_rows(a.rows, b.rows, i, [&](std::int32_t column, std::int64_t k, std::int64_t l) {
        sum.column_indices[target] = column;
        if (with_values) sum.values[target] = sum_of(a, b, k, l);
        ++target;
      });
    }
  });
  return sum;
}

template <class Target, class T>
bool update_sum_on(ScaledCsr<T> A, ScaledCsr<T> B, const Array<std::int64_t>& row_offsets,
                   const Array<std::int32_t>& column_indices, T* values) {
  const ScaledRows<T> a{A.factor, SparseRows<T>(A.matrix)};
  const ScaledRows<T> b{B.factor, SparseRows<T>(B.matrix)};
  const std::int64_t* offsets = row_offsets.data();
  const std::int32_t* columns = column_indices.data();
  const std::int64_t work = A.matrix.rows() + A.matrix.nonzeros() + B.matrix.nonzeros();
  std::atomic<bool> is_known = true;
  for_dynamic_rows(A.matrix.device().threads(), A.matrix.rows(), work,
                   [&](int, std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const std::int64_t first = offsets[i];
                       if (!update_row(a, b, i, columns + first, offsets[i + 1] - first, values + first))
                         is_known = false;
                     }
                   });
  return is_known;
}

template SumArrays<float> sum_on<HostTarget>(ScaledCsr<float>, ScaledCsr<float>, bool);
template SumArrays<double> sum_on<HostTarget>(ScaledCsr<double>, ScaledCsr<double>, bool);
template bool update_sum_on<HostTarget>(ScaledCsr<float>, ScaledCsr<float>, const Array<std::int64_t>&,
                                        const Array<std::int32_t>&, float*);
template bool update_sum_on<HostTarget>(ScaledCsr<double>, ScaledCsr<double>, const Array<std::int64_t>&,
                                        const Array<std::int32_t>&, double*);

}  // namespace echelon
