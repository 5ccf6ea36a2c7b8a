// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Precedes a loop that is unrolled on a GPU, where arrays are then in registers. A macro: a pragma has to
/// stand at each loop. ECHELON_UNROLL_BY(count): a loop of which `count` iterations are one, on the host,
/// too.
#define ECHELON_PRAGMA(text) _Pragma(#text)
#ifdef __CUDA_ARCH__
#define ECHELON_UNROLL _Pragma("unroll")
#define ECHELON_UNROLL_BY(count) ECHELON_PRAGMA(unroll count)
#else
#define ECHELON_UNROLL
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define ECHELON_UNROLL_BY(count) ECHELON_PRAGMA(GCC unroll count)
#else
#define ECHELON_UNROLL_BY(count)
#endif
#endif

/// Precedes a loop whose iterations are independent, so that the host's compiler vectorises it.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define ECHELON_INDEPENDENT _Pragma("GCC ivdep")
#else
#define ECHELON_INDEPENDENT
#endif
