// SPDX-License-Identifier: BSD-3-Clause
/// Headers of CUDA's libraries and checks of their calls. The headers are large: include this only to call a
/// library.
#pragma once

#include "backend/cuda/check.cuh"

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <source_location>

namespace echelon {

/// Throw CudaError (OutOfMemory for a failed allocation) with the library's message and the source location
/// unless the call succeeded.
void check(cublasStatus_t status, std::source_location where = std::source_location::current());
void check(cusolverStatus_t status, std::source_location where = std::source_location::current());

}  // namespace echelon
