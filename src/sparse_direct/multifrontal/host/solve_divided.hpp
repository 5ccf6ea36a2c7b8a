// SPDX-License-Identifier: BSD-3-Clause
/// Substitution with the factors of one front for one right-hand side, by a team of threads.
///
/// Pivots are taken in blocks. One thread substitutes in the triangle of a block; then all threads apply it
/// to their shares of rows, or of columns where columns are multiplied by a vector. Every element is computed
/// by one thread and in the same order for any number of threads.
#pragma once

#include "sparse_direct/multifrontal/host/kernels.hpp"
#include "sparse_direct/multifrontal/host/solve_vector.hpp"

#include <algorithm>
#include <cstdint>

namespace echelon::sparse_direct {

namespace divided_detail {

using namespace vector_detail;

/// Pivots of a block.
inline constexpr int block_pivots = 128;

/// Calls f(first, last) for the own share of [begin, end).
template <class F>
void for_share(const Team& team, std::int64_t begin, std::int64_t end, const F& f) {
  constexpr std::int64_t unit = 64;
  const std::int64_t units = (std::max<std::int64_t>(end - begin, 0) + unit - 1) / unit;
  const std::int64_t first = begin + units * team.part / team.parts * unit;
  const std::int64_t last = std::min(end, begin + units * (team.part + 1) / team.parts * unit);
  if (first < last) f(first, last);
}

/// Calls f(first, constant count) for the own share of blocks of `narrow` of n columns.
template <class F>
void for_own_columns(const Team& team, int n, const F& f) {
  const int blocks = (n + narrow - 1) / narrow;
  const int first = blocks * team.part / team.parts * narrow;
  const int last = std::min(n, blocks * (team.part + 1) / team.parts * narrow);
  if (first < last) for_blocks(last - first, [&](int j, auto count) { f(first + j, count); });
}

/// Calls f(begin, end) for blocks of pivots, the last ones first.
template <class F>
void for_pivots_backwards(int pivots, const F& f) {
  for (int end = pivots; end > 0;) {
    const int begin = (end - 1) / block_pivots * block_pivots;
    f(begin, end);
    end = begin;
  }
}

template <class T>
void gather_shared(const Team& team, std::span<const std::int32_t> numbers, const T* x, T* w) {
  for_share(team, 0, std::ssize(numbers), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) w[i] = x[numbers[static_cast<std::size_t>(i)]];
  });
  team.barrier();
}
template <class T>
void clear_shared(const Team& team, std::int64_t count, T* w) {
  for_share(team, 0, count,
            [&](std::int64_t first, std::int64_t last) { std::fill(w + first, w + last, T{0}); });
  team.barrier();
}
/// Adds w to the elements of x with these numbers, which differ.
template <class T>
void scatter_shared(const Team& team, std::span<const std::int32_t> numbers, const T* w, T* x) {
  for_share(team, 0, std::ssize(numbers), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) x[numbers[static_cast<std::size_t>(i)]] += w[i];
  });
  team.barrier();
}

}  // namespace divided_detail

/// Solves with L of a front, and subtracts from the rows below.
template <class Isa, bool Unit, class T>
void solve_divided_lower(const MultifrontalFactors<T>& factors, const FrontRecord& record, const Team& team,
                         T* x, T* w) {
  using namespace divided_detail;
  const T* l = factors.panel(record);
  const std::int64_t size = record.size;
  const int e = record.eliminated;
  const auto below = numbers_below<T>(record, factors.row_numbers);
  T* own = x + record.first_pivot;
  clear_shared(team, std::ssize(below), w);
  for (int begin = 0; begin < e; begin += block_pivots) {
    const int end = std::min(begin + block_pivots, e);
    if (team.part == 0) {
      for_blocks(end - begin, [&](int k, auto count) {
        const int j = begin + k;
        solve_small<count, Unit, 1>(l + j * (size + 1), 1, size, own + j);
        subtract_columns<Isa, count>(end - j - count, l + j * size + j + count, size, own + j,
                                     own + j + count);
      });
    }
    team.barrier();
    const auto subtract = [&](std::int64_t first, std::int64_t last, T* y) {
      if (first >= last) return;
      for_blocks(end - begin, [&](int k, auto count) {
        const int j = begin + k;
        subtract_columns<Isa, count>(last - first, l + j * size + first, size, own + j, y);
      });
    };
    for_share(team, end, size, [&](std::int64_t first, std::int64_t last) {
      subtract(first, std::min<std::int64_t>(last, e), own + first);
      const std::int64_t first_below = std::max<std::int64_t>(first, e);
      subtract(first_below, last, w + (first_below - e));
    });
    team.barrier();
  }
  scatter_shared(team, below, w, x);
}

/// Subtracts L^T times the elements of the rows below, and solves with L^T of a front.
template <class Isa, bool Unit, class T>
void solve_divided_lower_transposed(const MultifrontalFactors<T>& factors, const FrontRecord& record,
                                    const Team& team, T* x, T* w) {
  using namespace divided_detail;
  const T* l = factors.panel(record);
  const std::int64_t size = record.size;
  const int e = record.eliminated;
  T* own = x + record.first_pivot;
  gather_shared(team, numbers_below<T>(record, factors.row_numbers), x, w);
  for_own_columns(team, e, [&](int j, auto count) {
    subtract_dots<Isa, count>(Rows<T>{size - e, l + j * size + e, w}, Rows<T>{}, size, own + j);
  });
  team.barrier();
  for_pivots_backwards(e, [&](int begin, int end) {
    if (team.part == 0) {
      for_blocks_backwards(end - begin, [&](int k, auto count) {
        const int j = begin + k;
        const int next = j + count;
        subtract_dots<Isa, count>(Rows<T>{end - next, l + j * size + next, own + next}, Rows<T>{}, size,
                                  own + j);
        solve_small<count, Unit, -1>(l + (next - 1) * (size + 1), -size, -1, own + next - 1);
      });
    }
    team.barrier();
    for_own_columns(team, begin, [&](int j, auto count) {
      subtract_dots<Isa, count>(Rows<T>{end - begin, l + j * size + begin, own + begin}, Rows<T>{}, size,
                                own + j);
    });
    team.barrier();
  });
}

/// Subtracts U times the elements of the columns after the pivots, and solves with U of a front.
template <class Isa, class T>
void solve_divided_upper(const MultifrontalFactors<T>& factors, const FrontRecord& record, const Team& team,
                         T* x, T* w) {
  using namespace divided_detail;
  const FactoredFront<T> front = factors.front(record);
  const std::int64_t size = front.size;
  const std::int64_t below = front.size - front.pivots;
  const int e = front.eliminated;
  const int delayed = front.pivots - e;
  T* own = x + record.first_pivot;
  gather_shared(team, numbers_below<T>(record, factors.column_numbers), x, w);
  for_share(team, 0, e, [&](std::int64_t first, std::int64_t last) {
    for_blocks(delayed, [&](int j, auto count) {
      subtract_columns<Isa, count>(last - first, front.lower + (e + j) * size + first, size, w + j,
                                   own + first);
    });
  });
  team.barrier();
  for_own_columns(team, e, [&](int j, auto count) {
    subtract_dots<Isa, count>(Rows<T>{below, front.right + j * below, w + delayed}, Rows<T>{}, below,
                              own + j);
  });
  team.barrier();
  for_pivots_backwards(e, [&](int begin, int end) {
    const auto subtract = [&](int j, auto count, std::int64_t first, std::int64_t last) {
      subtract_columns<Isa, count>(last - first, front.lower + j * size + first, size, own + j, own + first);
    };
    if (team.part == 0) {
      for_blocks_backwards(end - begin, [&](int k, auto count) {
        const int j = begin + k;
        const int last = j + count - 1;
        solve_small<count, false, -1>(front.lower + last * (size + 1), -1, -size, own + last);
        subtract(j, count, begin, j);
      });
    }
    team.barrier();
    for_share(team, 0, begin, [&](std::int64_t first, std::int64_t last) {
      for_blocks_backwards(end - begin, [&](int k, auto count) { subtract(begin + k, count, first, last); });
    });
    team.barrier();
  });
}

/// Solves with U^T of a front, and subtracts from the columns after the pivots.
template <class Isa, class T>
void solve_divided_upper_transposed(const MultifrontalFactors<T>& factors, const FrontRecord& record,
                                    const Team& team, T* x, T* w) {
  using namespace divided_detail;
  const FactoredFront<T> front = factors.front(record);
  const std::int64_t size = front.size;
  const std::int64_t below = front.size - front.pivots;
  const int e = front.eliminated;
  const int delayed = front.pivots - e;
  const auto numbers = numbers_below<T>(record, factors.column_numbers);
  T* own = x + record.first_pivot;
  clear_shared(team, std::ssize(numbers), w);
  for (int begin = 0; begin < e; begin += block_pivots) {
    const int end = std::min(begin + block_pivots, e);
    for_own_columns(team, end - begin, [&](int k, auto count) {
      const int j = begin + k;
      subtract_dots<Isa, count>(Rows<T>{begin, front.lower + j * size, own}, Rows<T>{}, size, own + j);
    });
    team.barrier();
    if (team.part == 0) {
      for_blocks(end - begin, [&](int k, auto count) {
        const int j = begin + k;
        subtract_dots<Isa, count>(Rows<T>{k, front.lower + j * size + begin, own + begin}, Rows<T>{}, size,
                                  own + j);
        solve_small<count, false, 1>(front.lower + j * (size + 1), size, 1, own + j);
      });
    }
    team.barrier();
  }
  for_share(team, 0, below, [&](std::int64_t first, std::int64_t last) {
    for_blocks(e, [&](int j, auto count) {
      subtract_columns<Isa, count>(last - first, front.right + j * below + first, below, own + j,
                                   w + delayed + first);
    });
  });
  for_own_columns(team, delayed, [&](int j, auto count) {
    subtract_dots<Isa, count>(Rows<T>{e, front.lower + (e + j) * size, own}, Rows<T>{}, size, w + j);
  });
  team.barrier();
  scatter_shared(team, numbers, w, x);
}

}  // namespace echelon::sparse_direct
