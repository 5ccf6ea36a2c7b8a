// SPDX-License-Identifier: BSD-3-Clause
/// The reduced form of a matrix by the striped scheme, instantiated for each target.
#pragma once

#include "backend/backend.hpp"
#include "solver/implementation.hpp"

#include <echelon/annotate.hpp>
#include <echelon/methods/dense/gauss_jordan_striped.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

/// Rows or columns begin, ..., end - 1.
struct StripeRange {
  std::int64_t begin, end;
};

template <class T>
struct StripedForm {
  Outcome outcome;        ///< ok, or `breakdown` at a zero pivot
  Dense<T> R;             ///< if the outcome is ok
  std::vector<T> pivots;  ///< min(m, n), on the host
};

template <class Target, class T>
[[nodiscard]] StripedForm<T> reduce_striped_on(const Dense<T>& A, const GaussJordanStripedOptions& options);
// A file that is compiled together with the host's definition would instantiate that one for other targets as
// well.
extern template StripedForm<float> reduce_striped_on<CudaTarget>(const Dense<float>&,
                                                                 const GaussJordanStripedOptions&);
extern template StripedForm<double> reduce_striped_on<CudaTarget>(const Dense<double>&,
                                                                  const GaussJordanStripedOptions&);
extern template StripedForm<float> reduce_striped_on<OpenClTarget>(const Dense<float>&,
                                                                   const GaussJordanStripedOptions&);
extern template StripedForm<double> reduce_striped_on<OpenClTarget>(const Dense<double>&,
                                                                    const GaussJordanStripedOptions&);

inline Outcome zero_without_exchanges(std::int64_t row) {
  return {
      Status::breakdown,
      "without pivoting, every diagonal element has to differ from zero when it becomes the pivot: that of "
      "row " +
          std::to_string(row) + " (from 0) does not",
      row};
}

/// Element k of R, column by column: rows over their pivots, with unit columns at the pivots and zero rows
/// below the last one.
template <class T>
struct StoreReducedElement {
  const T* a;  // m by n after both passes, row by row
  std::int64_t m, n, rank;
  T* R;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t y = k % m;
    const std::int64_t x = k / m;
    if (x < rank || y >= rank) {
      R[k] = static_cast<T>(x == y ? 1 : 0);
    } else {
      R[k] = a[y * n + x] / a[y * n + y];
    }
  }
};

template <class T>
struct CopyPivot {
  const T* a;
  std::int64_t n;
  T* pivots;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const { pivots[p] = a[p * n + p]; }
};

/// R and the pivots of a matrix after both passes.
template <class B, class T>
StripedForm<T> form_of(B& backend, const T* a, std::int64_t m, std::int64_t n) {
  const std::int64_t rank = m < n ? m : n;
  StripedForm<T> form{.outcome = {}, .R = Dense<T>(backend.device(), m, n), .pivots = {}};
  Array<T> pivots(backend.device(), rank);
  backend.for_each(rank, CopyPivot<T>{a, n, pivots.data()});
  backend.for_each(m * n, StoreReducedElement<T>{a, m, n, rank, form.R.data()});
  form.pivots = pivots.to_vector();
  return form;
}

}  // namespace echelon
