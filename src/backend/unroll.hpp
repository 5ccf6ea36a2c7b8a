// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Precedes a loop that is unrolled on a GPU, where arrays are then in registers. A macro: a pragma has to
/// stand at each loop.
#ifdef __CUDA_ARCH__
#define ECHELON_UNROLL _Pragma("unroll")
#else
#define ECHELON_UNROLL
#endif
