// SPDX-License-Identifier: BSD-3-Clause
/// Factorisation of a front by Householder reflections, in blocks of columns.
#pragma once

#include "linalg/blas/blas.hpp"
#include "linalg/kernels/simd.hpp"
#include "sparse_direct/qr/kernels.hpp"

#include <cmath>
#include <cstdint>

namespace echelon::sparse_direct {

namespace qr_detail {

/// The complex conjugate.
template <class T>
inline __attribute__((always_inline)) T conjugate(T x) {
  if constexpr (is_complex<T>) {
    return T{x.real(), -x.imag()};
  } else {
    return x;
  }
}
template <class T>
inline __attribute__((always_inline)) Real<T> real_part(T x) {
  if constexpr (is_complex<T>) {
    return x.real();
  } else {
    return x;
  }
}
/// Euclidean norm of x, whose squares neither overflow nor matter where they underflow.
template <class Isa, class T>
Real<T> norm_of(std::int32_t rows, const T* x) {
  if constexpr (is_complex<T>) {
    return norm_of<Isa>(2 * rows, reinterpret_cast<const Real<T>*>(x));
  } else {
    using S = kernels::Simd<Isa, T>;
    auto sum = S::zero();
    std::int32_t i = 0;
    for (; i + S::width <= rows; i += S::width) {
      const auto part = S::load(x + i);
      sum = S::multiply_add(part, part, sum);
    }
    if (i < rows) {
      const auto part = S::load(x + i, rows - i);
      sum = S::multiply_add(part, part, sum);
    }
    return std::sqrt(S::sum(sum));
  }
}

/// C = (I - tau v v^H) C for a few columns.
template <class Isa, int Columns, class T>
void reflect_columns(std::int32_t rows, const T* v, const T* conj_v, T tau, T* c, std::int64_t leading) {
  using S = kernels::Simd<Isa, T>;
  typename S::Vec sum[Columns];
#pragma GCC unroll 4
  for (int j = 0; j < Columns; ++j) sum[j] = S::zero();
  std::int32_t i = 0;
  for (; i + S::width <= rows; i += S::width) {
    const auto part = S::load(conj_v + i);
#pragma GCC unroll 4
    for (int j = 0; j < Columns; ++j) sum[j] = S::multiply_add(part, S::load(c + i + j * leading), sum[j]);
  }
  if (i < rows) {
    const auto part = S::load(conj_v + i, rows - i);
#pragma GCC unroll 4
    for (int j = 0; j < Columns; ++j)
      sum[j] = S::multiply_add(part, S::load(c + i + j * leading, rows - i), sum[j]);
  }
  typename S::Factor factor[Columns];
#pragma GCC unroll 4
  for (int j = 0; j < Columns; ++j) factor[j] = S::broadcast(kernels::product(tau, S::sum(sum[j])));
  i = 0;
  for (; i + S::width <= rows; i += S::width) {
    const auto part = S::load(v + i);
#pragma GCC unroll 4
    for (int j = 0; j < Columns; ++j) {
      T* const at = c + i + j * leading;
      S::store(at, S::multiply_subtract(part, factor[j], S::load(at)));
    }
  }
  if (i == rows) return;
  const auto part = S::load(v + i, rows - i);
#pragma GCC unroll 4
  for (int j = 0; j < Columns; ++j) {
    T* const at = c + i + j * leading;
    S::store(at, S::multiply_subtract(part, factor[j], S::load(at, rows - i)), rows - i);
  }
}

template <class Isa, class T>
void reflect(std::int32_t rows, std::int32_t columns, const T* v, const T* conj_v, T tau, T* c,
             std::int64_t leading) {
  std::int32_t j = 0;
  for (; j + 4 <= columns; j += 4) reflect_columns<Isa, 4>(rows, v, conj_v, tau, c + j * leading, leading);
  if (j + 2 <= columns) {
    reflect_columns<Isa, 2>(rows, v, conj_v, tau, c + j * leading, leading);
    j += 2;
  }
  if (j < columns) reflect_columns<Isa, 1>(rows, v, conj_v, tau, c + j * leading, leading);
}

/// Replaces x by v, with its leading 1, for which (I - tau v v^H)^H x = (beta, 0, ..., 0)^T with a real beta.
template <class T>
struct MadeReflection {
  T tau;
  T beta;
};
template <class Isa, class T>
MadeReflection<T> make_reflection(std::int32_t rows, Real<T> norm, T* x) {
  const T alpha = x[0];
  if (!(norm > 0)) {
    x[0] = T{1};
    return {T{0}, alpha};
  }
  const Real<T> beta = -std::copysign(norm, real_part(alpha));
  const T scale = kernels::reciprocal(T(alpha - beta));
  for (std::int32_t i = 1; i < rows; ++i) x[i] = kernels::product(x[i], scale);
  x[0] = T{1};
  return {kernels::product(T(beta - alpha), T{1 / beta}), T{beta}};
}

/// Reflections of neighbouring columns of a front as one product I - V F V^H, with F upper triangular (R.
/// Schreiber, C. Van Loan, SIAM J. Sci. Stat. Comput. 10, 1989).
template <class Isa, class T>
class ReflectionProduct {
 public:
  explicit ReflectionProduct(const QrFront<T>& front) : front_(front) {}

  /// Takes reflections `begin` to `end` of the front.
  void form(std::int32_t begin, std::int32_t end) {
    count_ = end - begin;
    first_ = front_.reflections[begin].first;
    rows_ = 0;
    for (std::int32_t k = begin; k < end; ++k) {
      const std::int32_t last = front_.reflections[k].first + front_.reflections[k].rows;
      if (last - first_ > rows_) rows_ = last - first_;
    }
    for (std::int32_t k = begin; k < end; ++k)
      copy_vector(front_.reflections[k], front_.leading[k], k - begin);
    blas::gemm(CblasConjTrans, CblasNoTrans, count_, count_, rows_, T{1}, vectors(), rows_, vectors(), rows_,
               T{0}, factor(), reflection_block);
    for (std::int32_t k = 0; k < count_; ++k) complete_factor(k, front_.reflections[begin + k].tau);
  }

  /// Applies the adjoint of the product to columns of the front from `begin` on.
  void apply(std::int32_t begin) {
    const std::int32_t columns = front_.columns - begin;
    T* const c = front_.elements + std::int64_t{begin} * front_.rows + first_;
    T* const first = products();
    T* const second = first + std::int64_t{columns} * reflection_block;
    blas::gemm(CblasConjTrans, CblasNoTrans, count_, columns, rows_, T{1}, vectors(), rows_, c, front_.rows,
               T{0}, first, count_);
    blas::gemm(CblasConjTrans, CblasNoTrans, count_, columns, count_, T{1}, factor(), reflection_block, first,
               count_, T{0}, second, count_);
    blas::gemm(CblasNoTrans, CblasNoTrans, rows_, columns, count_, T{-1}, vectors(), rows_, second, count_,
               T{1}, c, front_.rows);
  }

 private:
  [[nodiscard]] T* vectors() const { return front_.work; }
  [[nodiscard]] T* products() const { return vectors() + std::int64_t{front_.rows} * reflection_block; }
  [[nodiscard]] T* factor() const { return products() + 2 * std::int64_t{front_.columns} * reflection_block; }

  void copy_vector(const Reflection<T>& reflection, std::int32_t column, std::int32_t k) {
    T* const to = vectors() + std::int64_t{k} * rows_;
    const T* const from = front_.elements + std::int64_t{column} * front_.rows + reflection.first;
    const std::int32_t above = reflection.first - first_;
    for (std::int32_t i = 0; i < above; ++i) to[i] = T{0};
    to[above] = T{1};
    for (std::int32_t i = 1; i < reflection.rows; ++i) to[above + i] = from[i];
    for (std::int32_t i = above + reflection.rows; i < rows_; ++i) to[i] = T{0};
  }

  /// Replaces the products of column k of V with the columns before it by column k of F.
  void complete_factor(std::int32_t k, T tau) {
    T* const column = factor() + std::int64_t{k} * reflection_block;
    for (std::int32_t i = 0; i < k; ++i) {
      T sum{0};
      for (std::int32_t j = i; j < k; ++j)
        sum = kernels::minus_product(sum, factor()[i + std::int64_t{j} * reflection_block], column[j]);
      column[i] = kernels::product(sum, tau);
    }
    column[k] = tau;
    for (std::int32_t i = k + 1; i < count_; ++i) column[i] = T{0};
  }

  const QrFront<T>& front_;
  std::int32_t count_ = 0;
  std::int32_t first_ = 0;  // row of V
  std::int32_t rows_ = 0;
};

/// Factors the columns of a front.
template <class Isa, class T>
class FrontElimination {
 public:
  explicit FrontElimination(const QrFront<T>& front) : front_(front), product_(front) {}

  ReflectedFront run() {
    // Up to this many elements of a front, products by BLAS take longer than its reflections.
    constexpr std::int64_t small = 4096;
    const bool blocked = std::int64_t{front_.rows} * front_.columns > small &&
                         front_.columns > reflection_block && front_.rows > reflection_block;
    const std::int32_t width = blocked ? reflection_block : front_.columns;
    for (std::int32_t begin = 0; begin < front_.columns; begin += width) {
      const std::int32_t end = front_.columns - begin < width ? front_.columns : begin + width;
      const std::int32_t before = result_.reflections;
      for (std::int32_t k = begin; k < end; ++k) eliminate(k, end);
      if (end == front_.columns || result_.reflections == before) continue;
      product_.form(before, result_.reflections);
      product_.apply(end);
    }
    return result_;
  }

 private:
  /// Eliminates column k, and applies its reflection to the columns up to `end`.
  void eliminate(std::int32_t k, std::int32_t end) {
    const std::int32_t first = result_.reflections;
    const std::int32_t rows = front_.staircase[k] - first;
    T* const x = front_.elements + std::int64_t{k} * front_.rows + first;
    const bool pivot = k < front_.pivots;
    if (rows <= 0) return;
    const Real<T> norm = norm_of<Isa>(rows, x);
    if (pivot && !(norm > front_.tolerance)) {
      if (norm > result_.largest_dropped) result_.largest_dropped = norm;
      for (std::int32_t i = 0; i < rows; ++i) x[i] = T{0};
      return;
    }
    const MadeReflection<T> made = make_reflection<Isa>(rows, norm, x);
    if (k + 1 < end)
      reflect<Isa>(rows, end - k - 1, x, conjugated(rows, x), conjugate(made.tau), x + front_.rows,
                   front_.rows);
    x[0] = made.beta;
    front_.reflections[first] = {first, rows, made.tau};
    front_.leading[first] = k;
    ++result_.reflections;
    if (pivot) ++result_.rank;
  }

  const T* conjugated(std::int32_t rows, const T* x) {
    if constexpr (is_complex<T>) {
      for (std::int32_t i = 0; i < rows; ++i) front_.work[i] = conjugate(x[i]);
      return front_.work;
    } else {
      return x;
    }
  }

  const QrFront<T>& front_;
  ReflectionProduct<Isa, T> product_;
  ReflectedFront result_;
};

template <class Isa, class T>
ReflectedFront factor_front(const QrFront<T>& front) {
  return FrontElimination<Isa, T>(front).run();
}

}  // namespace qr_detail

template <class Isa, class T>
const QrKernels<T>* qr_kernels_of() {
  static constexpr QrKernels<T> kernels{.factor = qr_detail::factor_front<Isa, T>,
                                        .reflect = qr_detail::reflect<Isa, T>};
  return &kernels;
}

}  // namespace echelon::sparse_direct
