// SPDX-License-Identifier: BSD-3-Clause
#include "version.hpp"

#include <echelon/device.hpp>
#include <echelon/linalg/blas.hpp>

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace echelon::tool {

namespace {

std::string compiler() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

/// The widest instructions for which the library has kernels and that this processor has.
std::string_view widest_instructions() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0) return "AVX-512";
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) return "AVX2";
#endif
  return "portable";
}

}  // namespace

std::string version_text() {
  const std::string blas = host_blas().description;
  return fmt::format(
      "echelon {}\ncommit: {}\ncompiler: {}\nBLAS: {}\n"
      "instruction sets: portable, AVX2, AVX-512; on this processor {}\nCUDA: {}\nOpenCL: {}\n",
      ECHELON_VERSION, source_commit(), compiler(), blas.empty() ? "not OpenBLAS" : blas,
      widest_instructions(), cuda_built() ? "yes" : "no", opencl_built() ? "yes" : "no");
}

}  // namespace echelon::tool
