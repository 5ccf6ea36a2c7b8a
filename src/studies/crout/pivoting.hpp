// SPDX-License-Identifier: BSD-3-Clause
/// The largest element of a column by a parallel reduction, and exchanges of rows.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/dense.hpp>

#include <cmath>
#include <cstdint>
#include <utility>

namespace echelon::crout {

/// The element of largest magnitude; NaN is larger than any number, and among equals the first counts.
struct LargestElement {
  double magnitude = -1;
  std::int64_t row = -1;
  friend ECHELON_ANYWHERE LargestElement combine(LargestElement a, LargestElement b) {
    const bool a_is_nan = a.magnitude != a.magnitude;
    const bool b_is_nan = b.magnitude != b.magnitude;
    if (a_is_nan != b_is_nan) return a_is_nan ? a : b;
    if (a.row < 0 || b.row < 0) return a.row < 0 ? b : a;
    if (a_is_nan || a.magnitude == b.magnitude) return a.row < b.row ? a : b;
    return a.magnitude > b.magnitude ? a : b;
  }
};

template <class T>
struct ElementOfColumn {
  const T* column;
  std::int64_t first;
  ECHELON_ANYWHERE LargestElement operator()(std::int64_t i) const {
    return {std::fabs(static_cast<double>(column[first + i])), first + i};
  }
};

/// Queues the search of column j for its largest element in rows [first, A.rows()).
template <class B, class T>
void find_largest(B& backend, DenseView<const T> A, std::int64_t first, std::int64_t j,
                  LargestElement* result) {
  backend.reduce(A.rows() - first, ElementOfColumn<T>{A.data() + j * A.leading(), first},
                 Store<LargestElement>{result});
}

template <class T>
struct ExchangeRows {
  DenseView<T> A;
  std::int64_t first, second;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    T* const column = A.data() + j * A.leading();
    const T element = column[first];
    column[first] = column[second];
    column[second] = element;
  }
};

template <class B, class T>
void exchange_rows(B& backend, DenseView<T> A, std::int64_t first, std::int64_t second) {
  if (first != second) backend.for_each(A.columns(), ExchangeRows<T>{A, first, second});
}

}  // namespace echelon::crout
