// SPDX-License-Identifier: BSD-3-Clause
#include "version.hpp"

#include <echelon/device.hpp>
#include <echelon/linalg/blas.hpp>

#include <dlfcn.h>
#include <fmt/format.h>

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

/// OpenBLAS's description of itself, with its kernels for this processor. Another BLAS has no name.
std::string blas() {
  using Config = char* (*)();
  const auto config = reinterpret_cast<Config>(::dlsym(RTLD_DEFAULT, "openblas_get_config"));
  if (config == nullptr) return "not OpenBLAS";
  std::string text = config();
  text.erase(text.find_last_not_of(' ') + 1);
  const std::string kernels = host_blas().kernels;
  return kernels.empty() || text.find(kernels) != std::string::npos ? text : text + ", kernels " + kernels;
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
  return fmt::format(
      "echelon {}\ncommit: {}\ncompiler: {}\nBLAS: {}\n"
      "instruction sets: portable, AVX2, AVX-512; on this processor {}\nCUDA: {}\nOpenCL: {}\n",
      ECHELON_VERSION, source_commit(), compiler(), blas(), widest_instructions(),
      cuda_built() ? "yes" : "no", opencl_built() ? "yes" : "no");
}

}  // namespace echelon::tool
