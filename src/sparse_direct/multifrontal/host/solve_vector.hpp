// SPDX-License-Identifier: BSD-3-Clause
/// Substitution with the factors of several fronts for one right-hand side.
///
/// The elements of x that belong to the pivots of a front follow each other and stay in place; `w` gathers
/// those of the rows or columns after them. Columns are taken in blocks of `narrow`, so that a panel is read
/// once.
#pragma once

#include "sparse_direct/multifrontal/fronts/factors.hpp"
#include "sparse_direct/multifrontal/host/dense_kernels.hpp"
#include "sparse_direct/multifrontal/host/kernels.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace echelon::sparse_direct {

namespace vector_detail {

/// Computes y = y - A x for a column-major A of `Count` columns.
template <class Isa, int Count, class T>
void subtract_columns(std::int64_t rows, const T* a, std::int64_t leading, const T* x, T* y) {
  using S = Simd<Isa, T>;
  typename S::Factor factor[Count];
#pragma GCC unroll 8
  for (int c = 0; c < Count; ++c) factor[c] = S::broadcast(x[c]);
  std::int64_t i = 0;
  for (; i + S::width <= rows; i += S::width) {
    auto sum = S::load(y + i);
#pragma GCC unroll 8
    for (int c = 0; c < Count; ++c) sum = S::multiply_subtract(S::load(a + i + c * leading), factor[c], sum);
    S::store(y + i, sum);
  }
  if (i == rows) return;
  const auto last = static_cast<int>(rows - i);
  auto sum = S::load(y + i, last);
#pragma GCC unroll 8
  for (int c = 0; c < Count; ++c) {
    sum = S::multiply_subtract(S::load(a + i + c * leading, last), factor[c], sum);
  }
  S::store(y + i, sum, last);
}

/// Computes sum = sum + A^T y, element by element of vectors, for a column-major A of `Count` columns.
template <class Isa, int Count, class T>
inline __attribute__((always_inline)) void add_dots(std::int64_t rows, const T* a, std::int64_t leading,
                                                    const T* y, typename Simd<Isa, T>::Vec (&sum)[Count]) {
  using S = Simd<Isa, T>;
  std::int64_t i = 0;
  for (; i + S::width <= rows; i += S::width) {
    const auto factor = S::load(y + i);
#pragma GCC unroll 8
    for (int c = 0; c < Count; ++c) sum[c] = S::multiply_add(S::load(a + i + c * leading), factor, sum[c]);
  }
  if (i == rows) return;
  const auto last = static_cast<int>(rows - i);
  const auto factor = S::load(y + i, last);
#pragma GCC unroll 8
  for (int c = 0; c < Count; ++c) {
    sum[c] = S::multiply_add(S::load(a + i + c * leading, last), factor, sum[c]);
  }
}

/// A run of rows of A, and the elements of y that they multiply.
template <class T>
struct Rows {
  std::int64_t count;
  const T* a;  ///< of the first column
  const T* y;
};

/// Computes x = x - A^T y for the `Count` columns of A, whose rows are in two runs.
template <class Isa, int Count, class T>
void subtract_dots(Rows<T> first, Rows<T> second, std::int64_t leading, T* x) {
  using S = Simd<Isa, T>;
  typename S::Vec sum[Count];
#pragma GCC unroll 8
  for (int c = 0; c < Count; ++c) sum[c] = S::zero();
  add_dots<Isa, Count>(first.count, first.a, leading, first.y, sum);
  add_dots<Isa, Count>(second.count, second.a, leading, second.y, sum);
#pragma GCC unroll 8
  for (int c = 0; c < Count; ++c) x[c] -= S::sum(sum[c]);
}

/// Solves M x = x for a lower triangular M of order `Count` with the elements m[j * row_step + p *
/// column_step]. If steps are negative, M is upper triangular, m points to its last element, and x to the
/// last element of the vector.
template <int Count, bool Unit, int Step, class T>
inline __attribute__((always_inline)) void solve_small(const T* m, std::int64_t row_step,
                                                       std::int64_t column_step, T* x) {
  T inverse[Count];
  if constexpr (!Unit) {
#pragma GCC unroll 8
    for (int j = 0; j < Count; ++j) inverse[j] = reciprocal(m[j * (row_step + column_step)]);
  }
  T value[Count];
#pragma GCC unroll 8
  for (int j = 0; j < Count; ++j) {
    T sum = x[j * Step];
#pragma GCC unroll 8
    for (int p = 0; p < j; ++p) sum = minus_product(sum, m[j * row_step + p * column_step], value[p]);
    if constexpr (!Unit) sum = product(sum, inverse[j]);
    value[j] = x[j * Step] = sum;
  }
}

/// Calls f(first, constant count) for blocks of at most `narrow` of n columns.
template <class F>
inline __attribute__((always_inline)) void for_blocks(int n, const F& f) {
  int j = 0;
  for (; j + narrow <= n; j += narrow) f(j, std::integral_constant<int, narrow>());
  if (j < n) with_constant(n - j, [&](auto count) { f(j, count); });
}

/// Calls f for such blocks from the last one to the first, which may have fewer than `narrow` columns.
template <class F>
inline __attribute__((always_inline)) void for_blocks_backwards(int n, const F& f) {
  int j = n;
  for (; j >= narrow; j -= narrow) f(j - narrow, std::integral_constant<int, narrow>());
  if (j > 0) with_constant(j, [&](auto count) { f(0, count); });
}

template <class T>
void gather(std::span<const std::int32_t> numbers, const T* x, T* w) {
  for (std::size_t i = 0; i < numbers.size(); ++i) w[i] = x[numbers[i]];
}

/// Adds w to the elements of x with these numbers, or to those outside of the fronts of a task.
template <class T>
void scatter(std::span<const std::int32_t> numbers, const FrontTask<T>& task, const T* w, T* x) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    T* target = numbers[i] < task.first_outside ? x : task.outside;
    target[numbers[i]] += w[i];
  }
}

/// Calls f for the fronts of a task whose pivots have a right-hand side that is not zero when their turn
/// comes. The forward substitution changes nothing in the others: those that a right-hand side with few
/// nonzeros does not reach.
template <class Isa, class T, class F>
void for_reached_fronts(const MultifrontalFactors<T>& factors, const FrontTask<T>& task, const T* x,
                        const F& f) {
  for (std::int32_t s = task.begin; s < task.end; ++s) {
    const FrontRecord& record = factors.fronts[static_cast<std::size_t>(s)];
    const T* const own = x + record.first_pivot;
    if (std::any_of(own, own + record.eliminated, [](const T& value) { return value != T{0}; })) f(record);
  }
}
/// Calls f for each front of a task in reverse order.
template <class T, class F>
void for_fronts_backwards(const MultifrontalFactors<T>& factors, const FrontTask<T>& task, const F& f) {
  for (std::int32_t s = task.end; s-- > task.begin;) f(factors.fronts[static_cast<std::size_t>(s)]);
}

template <class T>
std::span<const std::int32_t> numbers_below(const FrontRecord& front, const std::vector<std::int32_t>& all) {
  return {all.data() + front.below, static_cast<std::size_t>(front.size - front.eliminated)};
}

}  // namespace vector_detail

/// Solves x = L^-1 x.
template <class Isa, bool Unit, class T>
void solve_all_lower(const MultifrontalFactors<T>& factors, const FrontTask<T>& task, T* x, T* w) {
  using namespace vector_detail;
  for_reached_fronts<Isa>(factors, task, x, [&](const FrontRecord& record) {
    const T* l = factors.panel(record);
    const std::int64_t size = record.size;
    const int e = record.eliminated;
    const auto below = numbers_below<T>(record, factors.row_numbers);
    T* own = x + record.first_pivot;
    std::fill_n(w, below.size(), T{0});
    for_blocks(e, [&](int j, auto count) {
      const T* block = l + j * size;
      solve_small<count, Unit, 1>(block + j, 1, size, own + j);
      subtract_columns<Isa, count>(e - j - count, block + j + count, size, own + j, own + j + count);
      subtract_columns<Isa, count>(size - e, block + e, size, own + j, w);
    });
    scatter(below, task, w, x);
  });
}

/// Solves x = L^-T x.
template <class Isa, bool Unit, class T>
void solve_all_lower_transposed(const MultifrontalFactors<T>& factors, const FrontTask<T>& task, T* x, T* w) {
  using namespace vector_detail;
  for_fronts_backwards(factors, task, [&](const FrontRecord& record) {
    const T* l = factors.panel(record);
    const std::int64_t size = record.size;
    const int e = record.eliminated;
    T* own = x + record.first_pivot;
    gather(numbers_below<T>(record, factors.row_numbers), x, w);
    for_blocks_backwards(e, [&](int j, auto count) {
      const T* block = l + j * size;
      const int end = j + count;
      subtract_dots<Isa, count>(Rows<T>{e - end, block + end, own + end}, Rows<T>{size - e, block + e, w},
                                size, own + j);
      solve_small<count, Unit, -1>(block + (count - 1) * size + end - 1, -size, -1, own + end - 1);
    });
  });
}

/// Solves x = U^-1 x.
template <class Isa, class T>
void solve_all_upper(const MultifrontalFactors<T>& factors, const FrontTask<T>& task, T* x, T* w) {
  using namespace vector_detail;
  for_fronts_backwards(factors, task, [&](const FrontRecord& record) {
    const FactoredFront<T> front = factors.front(record);
    const std::int64_t size = front.size;
    const std::int64_t below = front.size - front.pivots;
    const int e = front.eliminated;
    T* own = x + record.first_pivot;
    gather(numbers_below<T>(record, factors.column_numbers), x, w);
    for_blocks(front.pivots - e, [&](int j, auto count) {
      subtract_columns<Isa, count>(e, front.lower + (e + j) * size, size, w + j, own);
    });
    const T* after = w + (front.pivots - e);
    for_blocks_backwards(e, [&](int j, auto count) {
      const T* last = front.lower + (j + count - 1) * (size + 1);
      subtract_dots<Isa, count>(Rows<T>{below, front.right + j * below, after}, Rows<T>{}, below, own + j);
      solve_small<count, false, -1>(last, -1, -size, own + j + count - 1);
      subtract_columns<Isa, count>(j, front.lower + j * size, size, own + j, own);
    });
  });
}

/// Solves x = U^-T x.
template <class Isa, class T>
void solve_all_upper_transposed(const MultifrontalFactors<T>& factors, const FrontTask<T>& task, T* x, T* w) {
  using namespace vector_detail;
  for_reached_fronts<Isa>(factors, task, x, [&](const FrontRecord& record) {
    const FactoredFront<T> front = factors.front(record);
    const std::int64_t size = front.size;
    const std::int64_t below = front.size - front.pivots;
    const int e = front.eliminated;
    const auto numbers = numbers_below<T>(record, factors.column_numbers);
    T* own = x + record.first_pivot;
    std::fill_n(w, numbers.size(), T{0});
    for_blocks(e, [&](int j, auto count) {
      const T* block = front.lower + j * size;
      subtract_dots<Isa, count>(Rows<T>{j, block, own}, Rows<T>{}, size, own + j);
      solve_small<count, false, 1>(block + j, size, 1, own + j);
      subtract_columns<Isa, count>(below, front.right + j * below, below, own + j, w + (front.pivots - e));
    });
    for_blocks(front.pivots - e, [&](int j, auto count) {
      subtract_dots<Isa, count>(Rows<T>{e, front.lower + (e + j) * size, own}, Rows<T>{}, size, w + j);
    });
    scatter(numbers, task, w, x);
  });
}

}  // namespace echelon::sparse_direct
