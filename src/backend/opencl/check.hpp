// SPDX-License-Identifier: BSD-3-Clause
/// Calls of OpenCL, for files that the host compiler compiles.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <string>

namespace echelon::opencl {

/// Throws OpenClError, which names the call and the error code, unless `status` is CL_SUCCESS.
void check(cl_int status, const char* call);
/// Name of an error code, "CL_OUT_OF_RESOURCES", or its number.
[[nodiscard]] std::string error_name(cl_int status);

}  // namespace echelon::opencl
