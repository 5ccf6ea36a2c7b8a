// SPDX-License-Identifier: BSD-3-Clause
/// Right-hand sides in the order of the pivots, row by row, for a substitution with several of them.
#pragma once

#include "sparse_direct/matching/scaling.hpp"

#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

/// Row k of x becomes row order[k] of B, scaled.
template <class T>
struct TakeRows {
  DenseView<const T> b;
  const std::int32_t* order;
  const std::vector<double>* scale;
  T* x;
  void operator()(std::int64_t k) const {
    const std::int64_t i = order[k];
    const auto factor = static_cast<Real<T>>(factor_at(*scale, i));
    if (b.columns() == 1) {
      x[k] = factor * b.data()[i];
      return;
    }
    for (std::int64_t c = 0; c < b.columns(); ++c) x[k * b.columns() + c] = factor * b.column(c)[i];
  }
};

/// Row order[k] of X becomes row k of x, scaled.
template <class T>
struct PutRows {
  const T* x;
  const std::int32_t* order;
  const std::vector<double>* scale;
  DenseView<T> out;
  void operator()(std::int64_t k) const {
    const std::int64_t i = order[k];
    const auto factor = static_cast<Real<T>>(factor_at(*scale, i));
    if (out.columns() == 1) {
      out.data()[i] = factor * x[k];
      return;
    }
    for (std::int64_t c = 0; c < out.columns(); ++c) out.column(c)[i] = factor * x[k * out.columns() + c];
  }
};

/// Multiplies x[k] by used[order[k]] / wanted[order[k]].
template <class T>
void change_scale(const std::vector<std::int32_t>& order, const std::vector<double>& used,
                  const std::vector<double>& wanted, T* x) {
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::int64_t i = order[k];
    x[k] = static_cast<T>(static_cast<Dot<T>>(x[k]) * factor_at(used, i) / factor_at(wanted, i));
  }
}

}  // namespace echelon::sparse_direct
