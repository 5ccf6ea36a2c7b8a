// SPDX-License-Identifier: BSD-3-Clause
// Solves with the factors of a sparse QR factorisation, for one vector.
#include "sparse_direct/qr/factors.hpp"
#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// y = y - a x. Most elements of null vectors are zero.
template <class T>
void subtract(std::int32_t n, const T* a, T x, T* y) {
  if (x == T{0}) return;
#pragma omp simd
  for (std::int32_t i = 0; i < n; ++i) y[i] -= a[i] * x;
}

/// a^H y, in partial sums.
template <class T>
T dot(std::int32_t n, const T* a, const T* y) {
  T partial[4] = {};
  std::int32_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (std::int32_t k = 0; k < 4; ++k) partial[k] += conj(a[i + k]) * y[i + k];
  }
  for (; i < n; ++i) partial[0] += conj(a[i]) * y[i];
  return (partial[0] + partial[1]) + (partial[2] + partial[3]);
}

}  // namespace

template <class T>
void QrFactors<T>::multiply_by_q(bool adjoint, T* y, QrSpace<T>& space) const {
  std::vector<T>& rows = space.rows;
  const auto apply = [&](const Reflection<T>& reflection, const T* v) {
    const T* conj_v = v;
    if constexpr (is_complex<T>) {
      space.conjugates.resize(static_cast<std::size_t>(reflection.rows));
      std::transform(v, v + reflection.rows, space.conjugates.begin(),
                     [](T element) { return conj(element); });
      conj_v = space.conjugates.data();
    }
    qr_kernels<T>().reflect(reflection.rows, 1, v, conj_v, adjoint ? conj(reflection.tau) : reflection.tau,
                            rows.data() + reflection.first, 0);
  };
  const auto apply_front = [&](const Front& front) {
    const std::int32_t* const of_S = front_rows_.data() + front.rows_begin;
    rows.resize(static_cast<std::size_t>(front.rows));
    for (std::int32_t i = 0; i < front.rows; ++i) rows[i] = y[of_S[i]];
    const Reflection<T>* const reflections = reflections_.data() + front.reflections_begin;
    const T* v = vectors_.data() + front.vectors_begin;
    if (adjoint) {
      for (std::int32_t q = 0; q < front.reflections; ++q) {
        apply(reflections[q], v);
        v += reflections[q].rows;
      }
    } else {
      for (std::int32_t q = 0; q < front.reflections; ++q) v += reflections[q].rows;
      for (std::int32_t q = front.reflections; q-- > 0;) {
        v -= reflections[q].rows;
        apply(reflections[q], v);
      }
    }
    for (std::int32_t i = 0; i < front.rows; ++i) y[of_S[i]] = rows[i];
  };
  if (adjoint) {
    std::for_each(fronts_.begin(), fronts_.end(), apply_front);
  } else {
    std::for_each(fronts_.rbegin(), fronts_.rend(), apply_front);
  }
}

template <class T>
void QrFactors<T>::solve_front(std::int64_t s, T* y, T* x, std::vector<T>& rows) const {
  const Front& front = fronts_[s];
  const SymbolicFactor& tree = analysis_->fronts;
  const std::int64_t core = analysis_->core_begin();
  const auto pivots = static_cast<std::int32_t>(tree.pivots(s));
  const auto below = tree.rows_of(s);
  const std::int32_t* const of_S = front_rows_.data() + front.rows_begin;
  rows.resize(static_cast<std::size_t>(front.rank));
  for (std::int32_t i = 0; i < front.rank; ++i) rows[i] = y[of_S[i]];
  const T* const R = factor_.data() + front.factor_begin;
  const auto column = [&](std::int64_t k) { return R + k * front.rank; };
  for (std::size_t k = 0; k < below.size(); ++k)
    subtract(front.rank, column(pivots + static_cast<std::int64_t>(k)), x[core + below[k]], rows.data());
  const std::int32_t first = tree.supernode_begin[s];
  std::int32_t left = front.rank;
  for (std::int32_t k = pivots; k-- > 0;) {
    const std::int32_t row = pivot_rows_[first + k];
    if (row >= 0) x[core + first + k] = rows[--left] / column(k)[row];
    subtract(left, column(k), x[core + first + k], rows.data());
  }
}

template <class T>
void QrFactors<T>::solve(T* y, T* x, QrSpace<T>& space) const {
  for (std::int64_t s = std::ssize(fronts_); s-- > 0;) solve_front(s, y, x, space.rows);
  for (std::int64_t k = std::ssize(analysis_->singletons); k-- > 0;) {
    const std::int64_t begin = singletons_begin_[k];
    T sum = y[analysis_->singletons[k].row];
    for (std::int64_t e = begin + 1; e < singletons_begin_[k + 1]; ++e)
      sum -= singleton_values_[e] * x[singleton_columns_[e]];
    x[k] = sum / singleton_values_[begin];
  }
}

template <class T>
void QrFactors<T>::solve_front_adjoint(std::int64_t s, T* g, T* y, std::vector<T>& rows) const {
  const Front& front = fronts_[s];
  const SymbolicFactor& tree = analysis_->fronts;
  T* const of_core = g + analysis_->core_begin();
  const std::int32_t first = tree.supernode_begin[s];
  const auto pivots = static_cast<std::int32_t>(tree.pivots(s));
  const T* R = factor_.data() + front.factor_begin;
  rows.resize(static_cast<std::size_t>(front.rank));
  for (std::int32_t k = 0; k < pivots; ++k, R += front.rank) {
    const std::int32_t row = pivot_rows_[first + k];
    if (row >= 0) rows[row] = (of_core[first + k] - dot(row, R, rows.data())) / conj(R[row]);
  }
  for (const std::int32_t column : tree.rows_of(s)) {
    of_core[column] -= dot(front.rank, R, rows.data());
    R += front.rank;
  }
  for (std::int32_t i = 0; i < front.rank; ++i) y[front_rows_[front.rows_begin + i]] = rows[i];
}

template <class T>
void QrFactors<T>::solve_adjoint(T* g, T* y, QrSpace<T>& space) const {
  for (std::int64_t k = 0; k < std::ssize(analysis_->singletons); ++k) {
    const std::int64_t begin = singletons_begin_[k];
    const T element = g[k] / conj(singleton_values_[begin]);
    y[analysis_->singletons[k].row] = element;
    for (std::int64_t e = begin + 1; e < singletons_begin_[k + 1]; ++e)
      g[singleton_columns_[e]] -= conj(singleton_values_[e]) * element;
  }
  for (std::int64_t s = 0; s < std::ssize(fronts_); ++s) solve_front_adjoint(s, g, y, space.rows);
}

template <class T>
void QrFactors<T>::clear_pivots(T* y) const {
  for (const ColumnSingleton& singleton : analysis_->singletons) y[singleton.row] = T{0};
  for (const Front& front : fronts_) {
    for (std::int32_t i = 0; i < front.rank; ++i) y[front_rows_[front.rows_begin + i]] = T{0};
  }
}

#define ECHELON_INSTANTIATE(T)                                            \
  template void QrFactors<T>::multiply_by_q(bool, T*, QrSpace<T>&) const; \
  template void QrFactors<T>::solve(T*, T*, QrSpace<T>&) const;           \
  template void QrFactors<T>::solve_adjoint(T*, T*, QrSpace<T>&) const;   \
  template void QrFactors<T>::clear_pivots(T*) const;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct
