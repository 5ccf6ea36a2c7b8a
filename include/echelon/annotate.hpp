// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Marks a function as code for both the host and a device. A macro: the language has no other way to apply
/// the attributes only in the compilations for CUDA and OpenCL.
#ifdef __CUDACC__
#define ECHELON_ANYWHERE __host__ __device__
#elif defined(ECHELON_OPENCL_TARGET)
#define ECHELON_ANYWHERE __attribute__((host)) __attribute__((device))
#else
#define ECHELON_ANYWHERE
#endif
