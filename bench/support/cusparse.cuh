// SPDX-License-Identifier: BSD-3-Clause
/// cuSPARSE, with which benchmarks compare.
#pragma once

#include <echelon/error.hpp>

#include <cusparse.h>

#include <string>

/// Throws CudaError unless a call of cuSPARSE succeeded. In the namespace of cusparseStatus_t, where the
/// template make_owned finds it.
inline void check(cusparseStatus_t status) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  throw echelon::CudaError(std::string("cuSPARSE: ") + cusparseGetErrorString(status));
}

namespace echelon {
using ::check;
}  // namespace echelon
