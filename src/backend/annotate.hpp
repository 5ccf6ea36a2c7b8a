// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Marks a functor's call operator as code for both the host and a GPU. A macro because nothing else can.
#ifdef __CUDACC__
#define ECHELON_ANYWHERE __host__ __device__
#else
#define ECHELON_ANYWHERE
#endif
