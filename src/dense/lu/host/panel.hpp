// SPDX-License-Identifier: BSD-3-Clause
/// LU of a panel with partial pivoting, and its application to other columns.
#pragma once

#include "dense/lu/host/kernels.hpp"
#include "linalg/kernels/column.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace echelon::lu {

using kernels::narrow;
using kernels::Part;
using kernels::RightOperand;

/// The factorisation in progress of a panel of m rows.
template <class Isa, class T>
class Panel {
 public:
  Panel(PackBuffers<T>& buffers, int rows, T* a, std::int64_t leading, std::int32_t* pivots)
      : buffers_(buffers), rows_(rows), a_(a), leading_(leading), pivots_(pivots) {}

  /// Factors columns [first, last), to which the columns before have been applied, from row `first` down.
  void factor(int first, int last) {
    if (last - first <= narrow) return factor_narrow(first, last);
    const int middle = first + ((last - first) / 2 + narrow - 1) / narrow * narrow;
    factor(first, middle);
    apply(first, middle, last);
    factor(middle, last);
    exchange_rows(middle, last, first, middle);
  }
  /// The first column without a nonzero pivot, or -1.
  [[nodiscard]] int zero_pivot() const { return zero_pivot_; }

 private:
  [[nodiscard]] T* at(int i, int j) const { return a_ + i + j * leading_; }

  /// Factors column by column: a column receives the updates of all earlier ones at once, which yields its
  /// largest element without another pass.
  void factor_narrow(int first, int last) {
    for (int j = first; j < last; ++j) {
      const T largest = update(first, j);
      pivots_[j] = j;
      if (largest == 0) {
        if (zero_pivot_ < 0) zero_pivot_ = j;
        continue;
      }
      // Factors of a matrix with a NaN or Inf are not used, so the pivot does not matter.
      if (std::isfinite(largest)) pivots_[j] = j + kernels::first_at_least<Isa>(rows_ - j, at(j, j), largest);
      exchange_rows(j, j + 1, first, last);
      kernels::divide<Isa>(rows_ - j - 1, *at(j, j), at(j + 1, j));
    }
  }

  /// Applies columns [first, column) to `column`. Returns the largest magnitude from the diagonal down.
  T update(int first, int column) {
    T* const a = at(first, column);
    const int count = column - first;
    for (int p = 0; p < count; ++p) {
      for (int i = p + 1; i < count; ++i) a[i] -= *at(first + i, first + p) * a[p];
    }
    const T* const l = at(column, first);
    if (count == 0) return kernels::update_column<Isa, 0>(rows_ - column, l, leading_, a, a);
    return kernels::with_constant(count, [&](auto terms) {
      return kernels::update_column<Isa, terms>(rows_ - column, l, leading_, a, a + count);
    });
  }

  /// Exchanges rows as pivots [first, last) did, in columns [begin, end).
  void exchange_rows(int first, int last, int begin, int end) const {
    for (int j = begin; j < end; ++j) {
      for (int p = first; p < last; ++p) std::swap(*at(p, j), *at(pivots_[p], j));
    }
  }

  /// Applies the factored columns [first, middle) to the columns [middle, last).
  void apply(int first, int middle, int last) {
    exchange_rows(first, middle, middle, last);
    kernels::solve_unit_lower<Isa>(buffers_, middle - first, at(first, first), leading_, last - middle,
                                   at(first, middle), leading_);
    kernels::subtract_product<Isa>(
        buffers_, Part::full, rows_ - middle, last - middle, middle - first, at(middle, first), leading_,
        RightOperand<T>{at(first, middle), 1, leading_}, at(middle, middle), leading_);
  }

  PackBuffers<T>& buffers_;
  int rows_;
  T* a_;
  std::int64_t leading_;
  std::int32_t* pivots_;
  int zero_pivot_ = -1;
};

/// P A = L U of a panel with rows >= columns; pivots[j], from 0, is the row that was exchanged with row j.
/// Returns the first column without a nonzero pivot, or -1.
template <class Isa, class T>
int factor_panel(PackBuffers<T>& buffers, int rows, int columns, T* a, std::int64_t leading,
                 std::int32_t* pivots) {  // NOLINT(readability-non-const-parameter)
  Panel<Isa, T> panel(buffers, rows, a, leading, pivots);
  panel.factor(0, columns);
  return panel.zero_pivot();
}

/// Computes C = [L^-1 C1; C2 - L2 L^-1 C1] for columns C whose rows have been exchanged; c is the first
/// element of C1.
template <class Isa, class T>
void apply_panel(PackBuffers<T>& buffers, const FactoredPanel<T>& panel, int columns, T* c,
                 std::int64_t leading) {
  using namespace kernels::product_detail;
  constexpr int block = tile_vectors<Isa> * kernels::Simd<Isa, T>::width;
  constexpr int group = tile_columns<Isa>;
  kernels::solve_unit_lower<Isa>(buffers, panel.width, panel.factors, panel.leading, columns, c, leading);
  T* const packed = buffers.b.data();
  pack_columns<Isa>(panel.width, columns, RightOperand<T>{c, 1, leading}, packed);
  for (int i = 0; i < panel.below; i += PackBuffers<T>::rows) {
    const int rows = std::min(PackBuffers<T>::rows, panel.below - i);
    for (int j = 0; j < columns; j += group) {
      update_column_group<Isa, true>(
          std::min(group, columns - j), rows, panel.width,
          panel.packed + static_cast<std::int64_t>(i) * panel.width, block,
          static_cast<std::int64_t>(block) * panel.width,
          RightOperand<T>{packed + static_cast<std::int64_t>(j) * panel.width, group, 1},
          c + panel.width + i + j * leading, leading);
    }
  }
}

/// The largest magnitude of a column-major matrix; NaN if an element is NaN or Inf.
template <class Isa, class T>
T largest_magnitude(int rows, int columns, const T* a, std::int64_t leading) {
  using S = kernels::Simd<Isa, T>;
  auto largest = S::zero();
  auto zeros = S::zero();  // NaN where an element is not finite: max_magnitude may pass over a NaN
  for (int j = 0; j < columns; ++j) {
    const T* const column = a + j * leading;
    for (int i = 0; i < rows; i += S::width) {
      const auto x = i + S::width <= rows ? S::load(column + i) : S::load(column + i, rows - i);
      largest = S::max_magnitude(largest, x);
      zeros = S::multiply_add(x, S::zero(), zeros);
    }
  }
  return S::largest(largest) + S::sum(zeros);
}

template <class Isa, class T>
const HostKernels<T>* kernels_of() {
  using namespace kernels::product_detail;
  static constexpr HostKernels<T> table{
      .tile_rows = tile_vectors<Isa> * kernels::Simd<Isa, T>::width,
      .tile_columns = tile_columns<Isa>,
      .factor_panel = factor_panel<Isa, T>,
      .pack = pack_rows<Isa, T>,
      .apply_panel = apply_panel<Isa, T>,
      .largest = largest_magnitude<Isa, T>,
  };
  return &table;
}

}  // namespace echelon::lu
