// SPDX-License-Identifier: BSD-3-Clause
/// Gaussian elimination with partial pivoting of a tridiagonal matrix in chunks of consecutive rows.
///
/// The interior columns of a chunk, all but its first and last one, have no elements in other rows.
/// Eliminating them with row exchanges leaves two equations in four unknowns: the one before the chunk, its
/// first, its last, and the one behind it. The pairs of equations of two neighbours share two unknowns;
/// eliminating these from their four equations leaves such a pair again.
#pragma once

#include "backend/cuda/cuda.cuh"

#include <cstdint>
#include <limits>

namespace echelon::banded {

/// Two equations of a run of rows in the unknowns around it. Element: coefficients of the unknown before the
/// run, of its first, its last, of the one behind it, and the right-hand side.
template <class T>
struct EquationPair {
  T elements[2][5];
};

/// The four unknowns of an EquationPair.
template <class T>
struct BoundaryValues {
  T before, first, last, behind;
};

/// Facts about an elimination, combined over threads by atomic operations that do not depend on their order.
struct TridiagonalFacts {
  static constexpr unsigned long long none = std::numeric_limits<unsigned long long>::max();
  /// The first column without a pivot in the order of elimination: 2^32 times its stage, plus its number.
  unsigned long long zero_column = none;
  int not_finite = 0;  ///< 1: an element was or became NaN or infinite
  /// Bits of the magnitude of the largest pivot. Non-negative doubles are ordered as their bits.
  unsigned long long largest_pivot = 0;
};

template <class T>
inline constexpr T largest_finite = std::numeric_limits<T>::max();
template <class T>
inline constexpr T smallest_normal = std::numeric_limits<T>::min();

/// The facts of one thread. Columns of a later stage are eliminated after those of the stages before.
class PivotCheck {
 public:
  __device__ explicit PivotCheck(int stage) : stage_(stage) {}

  __device__ void next_stage() { ++stage_; }

  /// Returns the reciprocal of the pivot of a column, or 0 where there is none.
  template <class T>
  __device__ T reciprocal(T pivot, std::int64_t column) {
    const T magnitude = std::abs(pivot);
    if (!(magnitude <= largest_finite<T>)) not_finite_ = true;
    if (magnitude > largest_pivot_) largest_pivot_ = static_cast<double>(magnitude);
    if (magnitude < smallest_normal<T>) {
      const auto place = static_cast<unsigned long long>((std::int64_t{stage_} << 32) + column);
      if (place < zero_column_) zero_column_ = place;
      return 0;
    }
    return 1 / pivot;
  }
  __device__ void record(TridiagonalFacts* facts) const {
    if (zero_column_ != TridiagonalFacts::none) atomicMin(&facts->zero_column, zero_column_);
    if (not_finite_) atomicMax(&facts->not_finite, 1);
    // The check saves atomic operations: few threads find a larger pivot than the recorded one.
    const auto bits = static_cast<unsigned long long>(__double_as_longlong(largest_pivot_));
    if (bits > *static_cast<volatile unsigned long long*>(&facts->largest_pivot))
      atomicMax(&facts->largest_pivot, bits);
  }

 private:
  int stage_;
  unsigned long long zero_column_ = TridiagonalFacts::none;
  bool not_finite_ = false;
  double largest_pivot_ = 0;
};

template <class T>
__device__ void exchange_if(bool condition, T& a, T& b) {
  const T first = condition ? b : a;
  b = condition ? a : b;
  a = first;
}

/// Moves the row with the largest element in column `c`, of rows c and below, to row c, and eliminates the
/// column from the rows below. A NaN counts as largest. Returns the reciprocal of the pivot.
template <int c, int rows, int columns, class T>
__device__ T eliminate_column(T (&m)[rows][columns], std::int64_t column, PivotCheck& check) {
#pragma unroll
  for (int i = c + 1; i < rows; ++i) {
    const bool larger = std::abs(m[i][c]) > std::abs(m[c][c]) || m[i][c] != m[i][c];
#pragma unroll
    for (int j = c; j < columns; ++j) exchange_if(larger, m[c][j], m[i][j]);
  }
  const T reciprocal = check.reciprocal(m[c][c], column);
#pragma unroll
  for (int i = c + 1; i < rows; ++i) {
    const T factor = m[i][c] * reciprocal;
#pragma unroll
    for (int j = c + 1; j < columns; ++j) m[i][j] -= factor * m[c][j];
  }
  return reciprocal;
}

/// Combines the pairs of two neighbouring runs; `column`: the last column of the first one.
template <class T>
__device__ EquationPair<T> merge(const EquationPair<T>& a, const EquationPair<T>& b, std::int64_t column,
                                 PivotCheck& check) {
  // Columns: the two shared unknowns, those before and first of a, last and behind of b, the right-hand side.
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

/// Computes the two unknowns that neighbouring runs share, from the values around both.
template <class T>
struct SharedValues {
  T last_of_first, first_of_second;
};
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
    m[2 + i][2] = other[4] - other[2] * around.last - other[3] * around.behind;
  }
  PivotCheck unused(0);
  const T first = eliminate_column<0>(m, 0, unused);
  const T second = eliminate_column<1>(m, 1, unused);
  SharedValues<T> values;
  values.first_of_second = m[1][2] * second;
  values.last_of_first = (m[0][2] - m[0][1] * values.first_of_second) * first;
  return values;
}

/// First and last unknown of the whole matrix of order n, which has no unknowns around it.
template <class T>
__device__ BoundaryValues<T> solve_root(const EquationPair<T>& pair, std::int64_t n, PivotCheck& check) {
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

/// Rows of a thread block in shared memory: element r of thread t is at t (size + 1) + r, so that the
/// threads, each at its own rows, use different banks.
template <class T>
struct ChunkRows {
  T *lower, *diagonal, *upper, *rhs;
};

/// Elimination of the interior columns of a chunk, whose rows are added one after the other.
template <class T>
class ChunkElimination {
 public:
  /// Begins with the first two rows of `rows`.
  __device__ void start(const ChunkRows<T>& rows) {
    // Columns: the next two or three unknowns, those before and first of the chunk, the right-hand side.
    const T first[6] = {rows.upper[0], 0, 0, rows.lower[0], rows.diagonal[0], rows.rhs[0]};
    const T second[6] = {rows.diagonal[1], rows.upper[1], 0, 0, rows.lower[1], rows.rhs[1]};
#pragma unroll
    for (int j = 0; j < 6; ++j) {
      m_[0][j] = first[j];
      m_[1][j] = second[j];
    }
  }

  /// Adds row r of `rows`; `column`: the preceding column, which is eliminated.
  __device__ void add(const ChunkRows<T>& rows, int r, std::int64_t column, PivotCheck& check) {
    m_[2][0] = rows.lower[r];
    m_[2][1] = rows.diagonal[r];
    m_[2][2] = rows.upper[r];
    m_[2][3] = m_[2][4] = 0;
    m_[2][5] = rows.rhs[r];
    eliminate_column<0>(m_, column, check);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      m_[i][0] = m_[i + 1][1];
      m_[i][1] = m_[i + 1][2];
      m_[i][2] = 0;
      m_[i][3] = m_[i + 1][3];
      m_[i][4] = m_[i + 1][4];
      m_[i][5] = m_[i + 1][5];
    }
  }

  /// Returns the two equations that remain after the last row.
  __device__ EquationPair<T> pair() const {
    EquationPair<T> pair;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      pair.elements[i][0] = m_[i][3];
      pair.elements[i][1] = m_[i][4];
      pair.elements[i][2] = m_[i][0];
      pair.elements[i][3] = m_[i][1];
      pair.elements[i][4] = m_[i][5];
    }
    return pair;
  }

 private:
  T m_[3][6] = {};
};

/// Replaces the right-hand sides of a chunk by the solution, and its other elements by factors.
template <int size, class T>
__device__ void solve_chunk(const ChunkRows<T>& rows, const BoundaryValues<T>& around) {
  PivotCheck unused(0);
  T m[3][4] = {
      {rows.upper[0], 0, 0, rows.rhs[0] - rows.lower[0] * around.before - rows.diagonal[0] * around.first},
      {rows.diagonal[1], rows.upper[1], 0, rows.rhs[1] - rows.lower[1] * around.first}};
  // Each row is read before the elimination of the row that precedes it, so that the latency of the read is
  // hidden.
  T row[4] = {rows.lower[2], rows.diagonal[2], rows.upper[2], rows.rhs[2]};
#pragma unroll 2
  for (int r = 2; r < size; ++r) {
#pragma unroll
    for (int j = 0; j < 4; ++j) m[2][j] = row[j];
    const int after = r + 1 < size ? r + 1 : r;
    row[0] = rows.lower[after];
    row[1] = rows.diagonal[after];
    row[2] = rows.upper[after];
    row[3] = rows.rhs[after];
    rows.diagonal[r - 1] = eliminate_column<0>(m, 0, unused);
    rows.lower[r - 1] = m[0][1];
    rows.upper[r - 1] = m[0][2];
    rows.rhs[r - 1] = m[0][3];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      m[i][0] = m[i + 1][1];
      m[i][1] = m[i + 1][2];
      m[i][2] = 0;
      m[i][3] = m[i + 1][3];
    }
  }
  T next = around.last;
  T second = around.behind;
  rows.rhs[0] = around.first;
  rows.rhs[size - 1] = next;
#pragma unroll 2
  for (int r = size - 2; r > 0; --r) {
    const T x = (rows.rhs[r] - rows.upper[r] * second - rows.lower[r] * next) * rows.diagonal[r];
    rows.rhs[r] = x;
    second = next;
    next = x;
  }
}

/// A binary tree of pairs in shared memory, whose leaves are nodes `leaves` to 2 `leaves` - 1 and whose node
/// i has children 2 i and 2 i + 1. Called by `leaves` threads, which wait for each other.
template <class T>
struct PairTree {
  EquationPair<T>* nodes;
  int leaves;

  /// Reduces all nodes from the leaves to the root; leaf l has columns [first + l width, first + (l + 1)
  /// width).
  __device__ void reduce(std::int64_t first, std::int64_t width, PivotCheck& check) const {
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
      set_values(2 * node, {around.before, around.first, shared.last_of_first, shared.first_of_second});
      set_values(2 * node + 1, {shared.last_of_first, shared.first_of_second, around.last, around.behind});
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
    e[3] = values.behind;
  }
};

}  // namespace echelon::banded
