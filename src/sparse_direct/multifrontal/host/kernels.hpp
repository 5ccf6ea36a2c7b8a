// SPDX-License-Identifier: BSD-3-Clause
/// The dense kernels of the multifrontal factorisations, compiled for several instruction sets.
#pragma once

#include "sparse_direct/multifrontal/fronts/factors.hpp"
#include "sparse_direct/multifrontal/fronts/front.hpp"

#include <echelon/array.hpp>
#include <echelon/device.hpp>

#include <vector>

namespace echelon::sparse_direct {

template <class T>
struct PackBuffers;

/// Threads that compute parts of large products and assemblies.
template <class T>
class ProductThreads {
 public:
  using Work = void (*)(const void* product, int part, PackBuffers<T>&);
  /// Calls work(product, p, buffers) for p = 0, ..., parts - 1, on several threads with buffers of their own.
  virtual void run(int parts, Work work, const void* product) = 0;
  [[nodiscard]] virtual int count() const = 0;

 protected:
  ~ProductThreads() = default;
};

/// Memory for packed operands of large products.
template <class T>
struct PackBuffers {
  static constexpr int terms = 256;
  static constexpr int rows = 192;
  static constexpr int columns = 512;
  static constexpr double worth_threads = 1e6;  ///< multiplications: about 0.1 ms on one core
  Array<T> a, b;
  ProductThreads<T>* threads = nullptr;  ///< null: one thread computes all products
  void allocate() {
    if (a.size() > 0) return;
    a = Array<T>(Device(), terms * rows);
    b = Array<T>(Device(), terms * columns);
  }
};

/// Substitution with one triangle of the factors.
template <class T>
struct TriangleKernels {
  /// One front, several right-hand sides; solve_front.hpp.
  void (*in_front)(const FactoredFront<T>&, int columns, T* w);
  /// All fronts, one right-hand side; solve_vector.hpp.
  void (*vector)(const MultifrontalFactors<T>&, T* x, T* w);
};

/// Kernels for one instruction set; cholesky_front.hpp, lu_front.hpp and ldlt_front.hpp say what the
/// factorisations do.
template <class T>
struct FrontKernels {
  int (*factor_cholesky)(PackBuffers<T>&, int size, int pivots, T* panel, T* update);
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
