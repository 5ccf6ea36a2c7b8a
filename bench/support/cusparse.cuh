// SPDX-License-Identifier: BSD-3-Clause
/// cuSPARSE, with which benchmarks compare.
#pragma once

#include <echelon/error.hpp>

#include <cusparse.h>

#include <string>

namespace echelon {

/// Throws CudaError unless a call of cuSPARSE succeeded.
inline void check(cusparseStatus_t status) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  throw CudaError(std::string("cuSPARSE: ") + cusparseGetErrorString(status));
}

}  // namespace echelon
