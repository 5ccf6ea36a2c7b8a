// SPDX-License-Identifier: BSD-3-Clause
/// Kernels of Householder reflections for fronts, compiled for several instruction sets.
#pragma once

#include <echelon/matrix/scalar.hpp>

#include <cstdint>

namespace echelon::sparse_direct {

/// The reflection I - tau v v^H of a front: v has `rows` elements from row `first` on, the first of which is
/// 1.
template <class T>
struct Reflection {
  std::int32_t first = 0;
  std::int32_t rows = 0;
  T tau{};
};

/// Columns whose reflections are applied to the others together.
inline constexpr std::int32_t reflection_block = 32;

/// A front to be factored: column-major, its leading dimension is `rows`. It is replaced by R above the
/// vectors of the reflections, without their leading ones.
template <class T>
struct QrFront {
  T* elements = nullptr;
  std::int32_t rows = 0;
  std::int32_t columns = 0;
  std::int32_t pivots = 0;                  ///< leading columns, whose rows of R are final
  const std::int32_t* staircase = nullptr;  ///< rows that are not zero in the columns up to each
  Real<T> tolerance = 0;                    ///< norm up to which a pivot column is dependent
  Reflection<T>* reflections = nullptr;     ///< result: at most min(rows, columns)
  std::int32_t* leading = nullptr;          ///< result: column of each reflection, ascending
  T* work = nullptr;                        ///< work_size() elements

  /// Elements of `work`: the vectors of a block, products with them, their triangular factors.
  [[nodiscard]] static std::int64_t work_size(std::int64_t rows, std::int64_t columns) {
    return (rows + 2 * columns + 2 * reflection_block) * reflection_block + rows;
  }
};

struct ReflectedFront {
  std::int32_t reflections = 0;
  std::int32_t rank = 0;       ///< reflections of pivot columns
  double largest_dropped = 0;  ///< norm of a dependent pivot column
};

/// Kernels for one instruction set.
template <class T>
struct QrKernels {
  /// Factors a front. A pivot column that has at most the tolerance left below the rows of the pivots before
  /// it is dependent: it is cleared there, and has no row of R (M. Heath, SIAM J. Sci. Stat. Comput. 3,
  /// 1982).
  ReflectedFront (*factor)(const QrFront<T>& front);
  /// C = (I - tau v v^H) C for columns of C, with conj_v = conj(v); for real numbers v.
  void (*reflect)(std::int32_t rows, std::int32_t columns, const T* v, const T* conj_v, T tau, T* c,
                  std::int64_t leading);
};

/// The kernels for the widest vector instructions of the processor.
template <class T>
[[nodiscard]] const QrKernels<T>& qr_kernels();

/// Those for one instruction set, or null where they are not compiled.
template <class T>
[[nodiscard]] const QrKernels<T>* portable_qr_kernels();
template <class T>
[[nodiscard]] const QrKernels<T>* avx2_qr_kernels();
template <class T>
[[nodiscard]] const QrKernels<T>* avx512_qr_kernels();

}  // namespace echelon::sparse_direct
