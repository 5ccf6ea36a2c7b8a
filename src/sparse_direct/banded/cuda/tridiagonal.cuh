// SPDX-License-Identifier: BSD-3-Clause
/// Gaussian elimination with partial pivoting of a tridiagonal matrix in chunks of consecutive rows.
///
/// The interior columns of a chunk, all but its first and last one, have no elements in other rows.
/// Eliminating them with row exchanges leaves two equations in four unknowns: the one before the chunk, its
/// first, its last, and the one after it. The pairs of equations of two neighbours share two unknowns;
/// eliminating these from their four equations leaves such a pair again.
///
/// A chunk is eliminated from both ends by two threads, whose halves meet in its middle. For the solution
/// with known values around the chunk, each of them eliminates its rows without further unknowns, so that two
/// threads work on a chunk and none eliminates a row twice.
#pragma once

#include "backend/cuda/cuda.cuh"

#include <cmath>
#include <cstdint>
#include <limits>

namespace echelon::banded {

/// Two equations of a run of rows in the unknowns around it. Element: coefficients of the unknown before the
/// run, of its first, its last, of the one after it, and the right-hand side.
template <class T>
struct EquationPair {
  T elements[2][5];
};

/// The four unknowns of an EquationPair.
template <class T>
struct BoundaryValues {
  T before, first, last, after;
};

/// Facts about an elimination, combined over threads by atomic operations that do not depend on their order.
struct TridiagonalFacts {
  static constexpr unsigned long long none = std::numeric_limits<unsigned long long>::max();
  /// The first column without a pivot in the order of elimination: 2^32 times its stage, plus its number.
  unsigned long long zero_column = none;
  int not_finite = 0;  ///< 1: an element was or became NaN or infinite
  /// Bits of the magnitude of the largest pivot, whose last 32 bits are left out in double. Non-negative
  /// doubles are ordered as their bits.
  unsigned long long largest_pivot = 0;
};

/// The upper word of a magnitude: words are ordered as magnitudes are, with NaN above infinity.
__device__ inline unsigned magnitude_word(double value) {
  return static_cast<unsigned>(__double2hiint(value)) & 0x7fffffffU;
}
__device__ inline unsigned magnitude_word(float value) {
  return __float_as_uint(value) & 0x7fffffffU;
}

/// Bounds of PivotCheck on the upper words of the magnitudes of a type.
template <class T>
struct MagnitudeWords;
template <>
struct MagnitudeWords<double> {
  static constexpr unsigned infinity = 0x7ff00000U;
  static constexpr unsigned smallest_normal = 0x00100000U;
  __device__ static double magnitude(unsigned word) { return __hiloint2double(static_cast<int>(word), 0); }
};
template <>
struct MagnitudeWords<float> {
  static constexpr unsigned infinity = 0x7f800000U;
  static constexpr unsigned smallest_normal = 0x00800000U;
  __device__ static double magnitude(unsigned word) { return __uint_as_float(word); }
};

/// The facts of one thread about pivots of type T. Columns of a later stage are eliminated after those of the
/// stages before.
template <class T>
class PivotCheck {
 public:
  __device__ explicit PivotCheck(int stage) : stage_(stage) {}

  __device__ void next_stage() { ++stage_; }

  /// Returns the reciprocal of the pivot of a column, or 0 where there is none.
  __device__ T reciprocal(T pivot, std::int64_t column) {
    const unsigned word = magnitude_word(pivot);
    largest_word_ = max(largest_word_, word);
    if (word < MagnitudeWords<T>::smallest_normal) {
      const auto place = static_cast<unsigned long long>((std::int64_t{stage_} << 32) + column);
      if (place < zero_column_) zero_column_ = place;
      return 0;
    }
    return 1 / pivot;
  }
  __device__ void record(TridiagonalFacts* facts) const {
    if (zero_column_ != TridiagonalFacts::none) atomicMin(&facts->zero_column, zero_column_);
    if (largest_word_ >= MagnitudeWords<T>::infinity) atomicMax(&facts->not_finite, 1);
    // The check saves atomic operations: few threads find a larger pivot than the recorded one.
    const auto bits =
        static_cast<unsigned long long>(__double_as_longlong(MagnitudeWords<T>::magnitude(largest_word_)));
    if (bits > *static_cast<volatile unsigned long long*>(&facts->largest_pivot))
      atomicMax(&facts->largest_pivot, bits);
  }

 private:
  int stage_;
  unsigned largest_word_ = 0;
  unsigned long long zero_column_ = TridiagonalFacts::none;
};

template <class T>
__device__ void exchange_if(bool condition, T& a, T& b) {
  const T first = condition ? b : a;
  b = condition ? a : b;
  a = first;
}

/// Moves the row with the largest element in column `c`, of rows c and below, to row c, and eliminates the
/// column from the rows below. Returns reciprocal(pivot). A NaN wins every comparison, and so does what is
/// compared with it: it becomes a pivot or stays in a row that is left at the end.
template <int c, int rows, int columns, class T, class Reciprocal>
__device__ T eliminate_column(T (&m)[rows][columns], const Reciprocal& reciprocal) {
#pragma unroll
  for (int i = c + 1; i < rows; ++i) {
    const bool larger = !(std::abs(m[i][c]) <= std::abs(m[c][c]));
#pragma unroll
    for (int j = c; j < columns; ++j) exchange_if(larger, m[c][j], m[i][j]);
  }
  const T of_pivot = reciprocal(m[c][c]);
#pragma unroll
  for (int i = c + 1; i < rows; ++i) {
    const T factor = m[i][c] * of_pivot;
#pragma unroll
    for (int j = c + 1; j < columns; ++j) m[i][j] -= factor * m[c][j];
  }
  return of_pivot;
}

/// Eliminates a column of the matrix whose pivot is checked.
template <int c, int rows, int columns, class T>
__device__ T eliminate_column(T (&m)[rows][columns], std::int64_t column, PivotCheck<T>& check) {
  return eliminate_column<c>(m, [&](T pivot) { return check.reciprocal(pivot, column); });
}

/// Eliminates a column with a pivot that was checked before: the solution is not used if it was zero.
template <int c, int rows, int columns, class T>
__device__ T eliminate_checked_column(T (&m)[rows][columns]) {
  return eliminate_column<c>(m, [](T pivot) { return 1 / pivot; });
}

/// Combines the pairs of two neighbouring runs; `column`: the last column of the first one.
template <class T>
__device__ EquationPair<T> merge(const EquationPair<T>& a, const EquationPair<T>& b, std::int64_t column,
                                 PivotCheck<T>& check) {
  // Columns: the two shared unknowns, those before and first of a, last and after of b, the right-hand side.
  T m[4][7];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const T(&own)[5] = a.elements[i];
    const T(&other)[5] = b.elements[i];
    const T upper[7] = {own[2], own[3], own[0], own[1], 0, 0, own[4]};
    const T lower[7] = {other[0], other[1], 0, 0, other[2], other[3], other[4]};
#pragma unroll
    for (int j = 0; j < 7; ++j) {
      m[i][j] = upper[j];
      m[2 + i][j] = lower[j];
    }
  }
  eliminate_column<0>(m, column, check);
  eliminate_column<1>(m, column + 1, check);
  EquationPair<T> result;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 5; ++j) result.elements[i][j] = m[2 + i][2 + j];
  }
  return result;
}

/// The two unknowns that neighbouring runs share.
template <class T>
struct SharedValues {
  T last_of_first, first_of_second;
};

/// Solves four equations in the two shared unknowns, of which two follow from the others. Columns: the last
/// unknown of the first run, the first of the second, the right-hand side.
template <class T>
__device__ SharedValues<T> solve_shared(T (&m)[4][3]) {
  const T first = eliminate_checked_column<0>(m);
  const T second = eliminate_checked_column<1>(m);
  SharedValues<T> values;
  values.first_of_second = m[1][2] * second;
  values.last_of_first = (m[0][2] - m[0][1] * values.first_of_second) * first;
  return values;
}

/// Computes the shared unknowns from the values around both runs.
template <class T>
__device__ SharedValues<T> solve_shared(const EquationPair<T>& a, const EquationPair<T>& b,
                                        const BoundaryValues<T>& around) {
  T m[4][3];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const T(&own)[5] = a.elements[i];
    const T(&other)[5] = b.elements[i];
    m[i][0] = own[2];
    m[i][1] = own[3];
    m[i][2] = own[4] - own[0] * around.before - own[1] * around.first;
    m[2 + i][0] = other[0];
    m[2 + i][1] = other[1];
    m[2 + i][2] = other[4] - other[2] * around.last - other[3] * around.after;
  }
  return solve_shared(m);
}

/// The values around the first and the second of two neighbouring runs.
template <class T>
__device__ BoundaryValues<T> around_first(const BoundaryValues<T>& around, const SharedValues<T>& shared) {
  return {around.before, around.first, shared.last_of_first, shared.first_of_second};
}
template <class T>
__device__ BoundaryValues<T> around_second(const BoundaryValues<T>& around, const SharedValues<T>& shared) {
  return {shared.last_of_first, shared.first_of_second, around.last, around.after};
}

/// First and last unknown of the whole matrix of order n, which has no unknowns around it.
template <class T>
__device__ BoundaryValues<T> solve_root(const EquationPair<T>& pair, std::int64_t n, PivotCheck<T>& check) {
  T m[2][3];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    m[i][0] = pair.elements[i][1];
    m[i][1] = pair.elements[i][2];
    m[i][2] = pair.elements[i][4];
  }
  check.next_stage();
  const T first = eliminate_column<0>(m, 0, check);
  const T last = m[1][2] * check.reciprocal(m[1][1], n - 1);
  return {0, (m[0][2] - m[0][1] * last) * first, last, 0};
}

/// Gap between the elements of neighbouring chunks in shared memory: even, so that pairs of elements remain
/// aligned, and such that the threads of a warp, each at its own row, use different banks.
inline constexpr int chunk_gap = 2;

/// Rows of half a chunk in shared memory, from the outermost row of the chunk to the innermost: those of the
/// first half ascend, those of the second descend. A row has elements in the unknowns further out, its own
/// and further in. The three elements of a column follow each other, and there is a gap outside of a chunk.
template <class T>
struct HalfRows {
  const T* diagonal;  ///< of the outermost row
  T* right_side;      ///< of the outermost row
  int direction;      ///< 1: rows ascend; -1: rows descend

  __device__ T outermost() const { return diagonal[-(2 + chunk_gap) * direction]; }
  /// Element of row r > 0 in the unknown further out; that of row 0 is outermost().
  __device__ T outer(int r) const { return diagonal[direction * (3 * r - 2)]; }
  __device__ T own(int r) const { return diagonal[direction * 3 * r]; }
  __device__ T inner(int r) const { return diagonal[direction * (3 * r + 2)]; }
  __device__ T& rhs(int r) const { return right_side[direction * r]; }
};

/// Makes room for the next row after the elimination of the first column: the last two of three rows move up,
/// and their next three unknowns to the left. The columns after these stay.
template <int columns, class T>
__device__ void shift_rows(T (&m)[3][columns]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    m[i][0] = m[i + 1][1];
    m[i][1] = m[i + 1][2];
    m[i][2] = 0;
#pragma unroll
    for (int j = 3; j < columns; ++j) m[i][j] = m[i + 1][j];
  }
}

/// Elimination of the interior columns of half a chunk, whose rows are added one after the other.
template <class T>
class HalfElimination {
 public:
  /// Begins with the first two rows of `rows`.
  __device__ void start(const HalfRows<T>& rows) {
    // Columns: the next two or three unknowns, the one outside of the chunk and its outermost, the right-hand
    // side.
    const T first[6] = {rows.inner(0), 0, 0, rows.outermost(), rows.own(0), rows.rhs(0)};
    const T second[6] = {rows.own(1), rows.inner(1), 0, 0, rows.outer(1), rows.rhs(1)};
#pragma unroll
    for (int j = 0; j < 6; ++j) {
      m_[0][j] = first[j];
      m_[1][j] = second[j];
    }
  }

  /// Adds row r of `rows`; `column`: the preceding column, which is eliminated.
  __device__ void add(const HalfRows<T>& rows, int r, std::int64_t column, PivotCheck<T>& check) {
    m_[2][0] = rows.outer(r);
    m_[2][1] = rows.own(r);
    m_[2][2] = rows.inner(r);
    m_[2][3] = m_[2][4] = 0;
    m_[2][5] = rows.rhs(r);
    eliminate_column<0>(m_, column, check);
    shift_rows(m_);
  }

  /// Returns the two equations that remain after the last row, in ascending order of the unknowns.
  __device__ EquationPair<T> pair(int direction) const {
    EquationPair<T> pair;
    const bool ascending = direction > 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const T(&m)[6] = m_[i];
      pair.elements[i][0] = ascending ? m[3] : m[1];
      pair.elements[i][1] = ascending ? m[4] : m[0];
      pair.elements[i][2] = ascending ? m[0] : m[4];
      pair.elements[i][3] = ascending ? m[1] : m[3];
      pair.elements[i][4] = m[5];
    }
    return pair;
  }

 private:
  T m_[3][6] = {};
};

/// Solution within half a chunk of 2 `size` rows, from known values around the chunk. The factors are in
/// registers: three numbers for each unknown.
template <int size, class T>
class HalfSolution {
 public:
  /// Eliminates the interior unknowns. `outside`, `outermost`: values of the unknown outside of the chunk and
  /// of its outermost.
  __device__ HalfSolution(const HalfRows<T>& rows, T outside, T outermost) : outermost_(outermost) {
    T m[3][4] = {{rows.inner(0), 0, 0, rows.rhs(0) - rows.outermost() * outside - rows.own(0) * outermost},
                 {rows.own(1), rows.inner(1), 0, rows.rhs(1) - rows.outer(1) * outermost}};
#pragma unroll
    for (int r = 2; r < size; ++r) {
      m[2][0] = rows.outer(r);
      m[2][1] = rows.own(r);
      m[2][2] = rows.inner(r);
      m[2][3] = rows.rhs(r);
      const T reciprocal = eliminate_checked_column<0>(m);
      next_[r - 2] = m[0][1] * reciprocal;
      second_[r - 2] = m[0][2] * reciprocal;
      value_[r - 2] = m[0][3] * reciprocal;
      shift_rows(m);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      equations_[i][0] = m[i][0];
      equations_[i][1] = m[i][1];
      equations_[i][2] = m[i][3];
    }
  }

  /// Element j of equation i of the two that remain: coefficients of the innermost unknown of this half and
  /// of the other one, the right-hand side.
  __device__ T equation(int i, int j) const {
    return equations_[i][j];
  }

  /// Replaces the right-hand sides of the rows by the solution.
  __device__ void substitute(const HalfRows<T>& rows, T innermost, T innermost_of_other) const {
    T next = innermost;
    T second = innermost_of_other;
    rows.rhs(0) = outermost_;
    rows.rhs(size - 1) = next;
#pragma unroll
    for (int r = size - 2; r > 0; --r) {
      const T x = value_[r - 1] - second_[r - 1] * second - next_[r - 1] * next;
      rows.rhs(r) = x;
      second = next;
      next = x;
    }
  }

 private:
  T outermost_;
  T next_[size - 2], second_[size - 2], value_[size - 2];
  T equations_[2][3];
};

/// A binary tree of pairs in shared memory, whose leaves are nodes `leaves` to 2 `leaves` - 1 and whose node
/// i has children 2 i and 2 i + 1. Called by `leaves` threads, which wait for each other.
template <class T>
struct PairTree {
  EquationPair<T>* nodes;
  int leaves;

  /// Reduces all nodes from the leaves to the root; leaf l has columns [first + l width, first + (l + 1)
  /// width).
  __device__ void reduce(std::int64_t first, std::int64_t width, PivotCheck<T>& check) const {
    const int t = static_cast<int>(threadIdx.x);
    for (int count = leaves / 2; count > 0; count /= 2) {
      width *= 2;
      check.next_stage();
      __syncthreads();
      if (t < count) {
        const int node = count + t;
        nodes[node] = merge(nodes[2 * node], nodes[2 * node + 1], first + t * width + width / 2 - 1, check);
      }
    }
    __syncthreads();
  }

  /// Returns the boundary values of the calling thread's leaf, from those of the root, which thread 0 passes.
  /// The pairs are overwritten.
  __device__ BoundaryValues<T> substitute(const BoundaryValues<T>& root) const {
    const int t = static_cast<int>(threadIdx.x);
    if (t == 0) set_values(1, root);
    for (int count = 1; count < leaves; count *= 2) {
      __syncthreads();
      if (t >= count) continue;
      const int node = count + t;
      const BoundaryValues<T> around = values(node);
      const SharedValues<T> shared = solve_shared(nodes[2 * node], nodes[2 * node + 1], around);
      set_values(2 * node, around_first(around, shared));
      set_values(2 * node + 1, around_second(around, shared));
    }
    __syncthreads();
    return values(leaves + t);
  }

 private:
  __device__ BoundaryValues<T> values(int node) const {
    const T(&e)[5] = nodes[node].elements[0];
    return {e[0], e[1], e[2], e[3]};
  }
  __device__ void set_values(int node, const BoundaryValues<T>& values) const {
    T(&e)[5] = nodes[node].elements[0];
    e[0] = values.before;
    e[1] = values.first;
    e[2] = values.last;
    e[3] = values.after;
  }
};

}  // namespace echelon::banded
