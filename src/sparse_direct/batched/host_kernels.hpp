// SPDX-License-Identifier: BSD-3-Clause
/// The steps of a batch on the host, compiled for the vector instructions of several processors.
#pragma once

#include "sparse_direct/batched/batch_arrays.hpp"

#include <echelon/batched.hpp>

#include <cstdint>

namespace echelon::sparse_direct {

struct PartialResidual;

/// Systems in the registers of a core.
inline constexpr int host_lanes = 8;
template <class T>
using HostArrays = BatchArrays<T, host_lanes>;

/// The steps for all rows of `host_lanes` systems. `rows`: their order.
template <class T>
struct BatchKernels {
  using Rows = const std::int32_t*;
  void (*load)(const HostArrays<T>&, const T* values, std::int64_t leading, std::int64_t count);
  void (*eliminate)(const HostArrays<T>&, Rows rows);
  void (*solve_lower)(const HostArrays<T>&, Rows rows);
  void (*solve_upper)(const HostArrays<T>&, Rows rows);
  /// x = 0, and column `column` of B for `count` systems.
  void (*load_rhs)(const HostArrays<T>&, const DenseBatch<const T>& B, std::int64_t column,
                   std::int64_t count);
  /// Residuals; maxima and sums for each system.
  void (*measure)(const HostArrays<T>&, PartialResidual* sums);
};

/// For this processor.
template <class T>
[[nodiscard]] const BatchKernels<T>& batch_kernels();

template <class T>
[[nodiscard]] const BatchKernels<T>* portable_batch_kernels();
/// Null where the compiler has no such instructions.
template <class T>
[[nodiscard]] const BatchKernels<T>* avx2_batch_kernels();
template <class T>
[[nodiscard]] const BatchKernels<T>* avx512_batch_kernels();

}  // namespace echelon::sparse_direct
