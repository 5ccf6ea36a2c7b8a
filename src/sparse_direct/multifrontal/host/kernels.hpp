// SPDX-License-Identifier: BSD-3-Clause
/// The dense kernels of the multifrontal factorisations, compiled for several instruction sets.
#pragma once

#include "linalg/kernels/pack_buffers.hpp"
#include "sparse_direct/multifrontal/fronts/factors.hpp"
#include "sparse_direct/multifrontal/fronts/front.hpp"

#include <vector>

namespace echelon::sparse_direct {

using kernels::PackBuffers;
using kernels::ProductThreads;

/// A thread's place among those that work on the same front.
struct Team {
  int part = 0;
  int parts = 1;
  void barrier() const {
    if (parts == 1) return;
#pragma omp barrier
  }
};

/// Fronts begin, ..., end - 1 of a substitution, all descendants included. Sums of the forward substitution
/// for rows from `first_outside` on go to `outside`, which has their numbers.
template <class T>
struct FrontTask {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  std::int64_t first_outside = 0;
  T* outside = nullptr;
};

/// Substitution with one triangle of the factors.
template <class T>
struct TriangleKernels {
  /// Substitution in one front for several right-hand sides; see solve_front.hpp.
  void (*in_front)(const FactoredFront<T>&, int columns, T* w);
  /// Substitution in several fronts for one right-hand side; see solve_vector.hpp.
  void (*vector)(const MultifrontalFactors<T>&, const FrontTask<T>&, T* x, T* w);
  /// Substitution in one front for one right-hand side, by all threads of a team; see solve_divided.hpp.
  void (*divided)(const MultifrontalFactors<T>&, const FrontRecord&, const Team&, T* x, T* w);
};

/// Kernels for one instruction set; cholesky_front.hpp, lu_front.hpp and ldlt_front.hpp say what the
/// factorisations do.
template <class T>
struct FrontKernels {
  int (*factor_cholesky)(PackBuffers<T>&, std::vector<T>& scratch, int size, int pivots, T* panel, T* update);
  FrontResult<T> (*factor_lu)(PackBuffers<T>&, const UnsymmetricFront<T>&, const PivotThresholds<T>&);
  FrontResult<T> (*factor_ldlt)(PackBuffers<T>&, std::vector<T>& scratch, const SymmetricFront<T>&,
                                const PivotThresholds<T>&);

  TriangleKernels<T> lower;       ///< non-unit diagonal
  TriangleKernels<T> unit_lower;  ///< unit diagonal
  TriangleKernels<T> lower_transposed;
  TriangleKernels<T> unit_lower_transposed;
  TriangleKernels<T> upper;
  TriangleKernels<T> upper_transposed;
};

/// The kernels for the best instruction set of this processor.
template <class T>
[[nodiscard]] const FrontKernels<T>& front_kernels();

// One definition for each instruction set; null where the compiler does not have it.
template <class T>
[[nodiscard]] const FrontKernels<T>* portable_kernels();
template <class T>
[[nodiscard]] const FrontKernels<T>* avx2_kernels();
template <class T>
[[nodiscard]] const FrontKernels<T>* avx512_kernels();

}  // namespace echelon::sparse_direct
