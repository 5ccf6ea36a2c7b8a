// SPDX-License-Identifier: BSD-3-Clause
/// The kernels of LU on the host, compiled for several instruction sets.
#pragma once

#include "linalg/kernels/pack_buffers.hpp"

#include <cstdint>

namespace echelon::lu {

using kernels::PackBuffers;

/// A factored panel of `width` columns, to be applied to columns on its right.
template <class T>
struct FactoredPanel {
  int width;
  int below;         ///< rows below the triangle
  const T* factors;  ///< the triangle's first element; column-major
  std::int64_t leading;
  const T* packed;  ///< the rows below, by `pack`
};

/// Kernels for one instruction set; panel.hpp says what they do.
template <class T>
struct HostKernels {
  int tile_rows;     ///< packed rows come in blocks as high as this
  int tile_columns;  ///< and packed columns in groups as wide as this
  int (*factor_panel)(PackBuffers<T>&, int rows, int columns, T* a, std::int64_t leading,
                      std::int32_t* pivots);
  void (*pack)(int rows, int terms, const T* a, std::int64_t leading, T* packed);
  void (*apply_panel)(PackBuffers<T>&, const FactoredPanel<T>&, int columns, T* c, std::int64_t leading);
  T (*largest)(int rows, int columns, const T* a, std::int64_t leading);
};

/// The kernels for the best instruction set of this processor.
template <class T>
[[nodiscard]] const HostKernels<T>& host_kernels();

// One definition for each instruction set; null where the compiler does not have it.
template <class T>
[[nodiscard]] const HostKernels<T>* portable_kernels();
template <class T>
[[nodiscard]] const HostKernels<T>* avx2_kernels();
template <class T>
[[nodiscard]] const HostKernels<T>* avx512_kernels();

}  // namespace echelon::lu
