// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace echelon {

/// Selects the table of kernels for the widest vector instructions of the processor. Null: not compiled.
template <class Table>
const Table& best_kernels([[maybe_unused]] const Table* avx512, [[maybe_unused]] const Table* avx2,
                          const Table* portable) {
#if defined(__x86_64__)
  if (avx512 != nullptr && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return *avx512;
  if (avx2 != nullptr && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return *avx2;
#endif
  return *portable;
}

}  // namespace echelon
