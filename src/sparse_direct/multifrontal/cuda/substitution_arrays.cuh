// SPDX-License-Identifier: BSD-3-Clause
/// Arrays of a substitution, as its kernels see them.
#pragma once

#include "backend/cuda/flags.cuh"
#include "sparse_direct/multifrontal/cuda/arrays.cuh"

namespace echelon::sparse_direct::gpu {

inline constexpr int substitution_threads = small_fronts_together * warp_size;
inline constexpr int substitution_warps = small_fronts_together;
/// Blocks per multiprocessor, for which the compiler limits the registers of a thread: more loads in flight
/// in each block, or more blocks.
template <class T>
inline constexpr int substitution_blocks = is_complex<T> ? 2 : 3;

/// Triangular factors of a substitution.
enum class TriangularFactor : bool {
  lower,  ///< L, or for the backward substitution its transpose
  upper,  ///< U, or for the forward substitution its transpose
};
enum class Direction : bool { forward, backward };

/// A substitution with one of the factors.
struct SubstitutionKind {
  bool unit_diagonal;
  bool exchange;  ///< rows of the pivots, before the forward or after the backward substitution
};

/// Triangle of a front's pivots: element (i, c) of the factor, or of its transpose.
template <class T, TriangularFactor factor, Direction direction>
struct Triangle {
  /// True if the elements of a row are contiguous.
  static constexpr bool by_rows = (factor == TriangularFactor::upper) == (direction == Direction::forward);
  const T* panel;
  int leading;
  __device__ T operator()(int i, int c) const {
    return by_rows ? panel[c + std::int64_t{i} * leading] : panel[i + std::int64_t{c} * leading];
  }
};

/// Rows of a factor at the border of a front, column-major.
template <class T>
struct Border {
  const T* elements;  ///< (rows - pivots) x pivots
  int leading;
};

/// Arrays of a factorisation, and vectors of the first right-hand side.
template <class T>
struct SubstitutionArrays {
  const Front* fronts;
  const std::int32_t* order;         ///< of the fronts
  const std::int32_t* source_begin;  ///< ContributionSources
  const std::int32_t* sources;
  const std::int32_t* border_rows;  ///< of the permuted matrix, by Front::border
  const std::int32_t* position;     ///< nullptr where pivots are not exchanged
  const std::int32_t* pivot_order;  ///< of large fronts, the inverse of position
  const T* factor;
  const T* inverses;
  const T* diagonal;  ///< of L D L^T: D, two elements a column
  T* x;               ///< n: the permuted right-hand side, then the solution
  T* y;               ///< n: the solution of the forward substitution
  T* V;  ///< `rows` elements for each front: right-hand sides of its pivots, and sums of its border, to which
         ///< the parent adds its own
  unsigned* counters;
  std::int64_t interior;   ///< rows with pivots: all but those of a border
  std::int64_t leading_x;  ///< n: between right-hand sides, of x and of y
  std::int64_t leading_v;
  std::int64_t leading_counters;

  __device__ SubstitutionArrays column(int number) const {
    SubstitutionArrays result = *this;
    result.x += number * leading_x;
    result.y += number * leading_x;
    result.V += number * leading_v;
    result.counters += number * leading_counters;
    return result;
  }
  __device__ Border<T> border(const Front& front, TriangularFactor of) const {
    return of == TriangularFactor::upper ? Border<T>{factor + front.row_panel, front.rows - front.pivots}
                                         : Border<T>{factor + front.panel + front.pivots, front.rows};
  }
};

/// Tasks of a substitution for some right-hand sides: task t / columns for right-hand side t % columns.
struct SubstitutionTasks {
  const SubstitutionTask* tasks;
  std::int64_t count;
  std::int64_t columns;
  unsigned long long* next;  ///< the first that no block has taken
};

/// Adds the contributions of the children to a row of a front, one after the other. The places of the first
/// `early` are loaded before it is known that the children have finished.
template <class T, int early>
class ContributionSum {
  /// Contributions that are loaded together.
  static constexpr int together = 8;

 public:
  /// `row` may be outside the front, which then has none.
  __device__ __forceinline__ void prepare(const SubstitutionArrays<T>& arrays, const Front& front, int row) {
    begin_ = end_ = 0;
    if (row < front.rows) {
      begin_ = arrays.source_begin[front.vector + row];
      end_ = arrays.source_begin[front.vector + row + 1];
    }
#pragma unroll
    for (int k = 0; k < early; ++k) first_[k] = begin_ + k < end_ ? arrays.sources[begin_ + k] : -1;
  }
  /// After all children have finished.
  __device__ __forceinline__ void add(const SubstitutionArrays<T>& arrays, T& sum) const {
    T values[early];
#pragma unroll
    for (int k = 0; k < early; ++k) values[k] = first_[k] >= 0 ? arrays.V[first_[k]] : T{};
#pragma unroll
    for (int k = 0; k < early; ++k) sum += values[k];
    for (int first = begin_ + early; first < end_; first += together) {
      T more[together];
#pragma unroll
      for (int k = 0; k < together; ++k)
        more[k] = first + k < end_ ? arrays.V[arrays.sources[first + k]] : T{};
#pragma unroll
      for (int k = 0; k < together; ++k) sum += more[k];
    }
  }

 private:
  int begin_;
  int end_;
  int first_[early];
};

/// Solves x = A^-1 x, or A^-T x, for the permuted matrix, with factors of this kind. Those of a Hermitian
/// matrix compute the conjugate of A^-1 x from x and from the conjugates of the values that x has in a
/// border. Queued.
template <class T>
void substitute(FactorKind kind, bool transposed, const SubstitutionArrays<T>& arrays,
                const SubstitutionTasks& forward, const SubstitutionTasks& backward);

}  // namespace echelon::sparse_direct::gpu
