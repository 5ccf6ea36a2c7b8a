// SPDX-License-Identifier: BSD-3-Clause
/// The end of what avx2_begin.hpp or avx512_begin.hpp began.
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
