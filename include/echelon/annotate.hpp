// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Marks a function as code for both the host and a GPU. A macro: the language has no other way to apply the
/// attributes only where nvcc compiles.
#ifdef __CUDACC__
#define ECHELON_ANYWHERE __host__ __device__
#else
#define ECHELON_ANYWHERE
#endif
