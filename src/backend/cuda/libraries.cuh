// SPDX-License-Identifier: BSD-3-Clause
/// Headers of CUDA's libraries and checks of their calls. The headers are large: include this only to call a
/// library.
#pragma once

#include "backend/cuda/check.cuh"
#include "support/complex_arithmetic.cuh"

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <source_location>

namespace echelon {

/// Throw CudaError (OutOfMemory for a failed allocation) with the library's message and the source location
/// unless the call succeeded.
void check(cublasStatus_t status, std::source_location where = std::source_location::current());
void check(cusolverStatus_t status, std::source_location where = std::source_location::current());

/// Complex numbers as the libraries take them. Those of arguments are copied: the alignment differs.
inline cuDoubleComplex to_library(const Complex& value) {
  return {value.real(), value.imag()};
}
inline cuDoubleComplex* to_library(Complex* device) {
  return reinterpret_cast<cuDoubleComplex*>(device);
}
inline const cuDoubleComplex* to_library(const Complex* device) {
  return reinterpret_cast<const cuDoubleComplex*>(device);
}

}  // namespace echelon
