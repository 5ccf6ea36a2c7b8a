// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/blas/vector_instructions.hpp"

#include <echelon/linalg/blas.hpp>

#include <fmt/format.h>

#include <array>

/// Name of OpenBLAS's kernels; null if BLAS is not OpenBLAS, whose own header declares it as well.
// NOLINTNEXTLINE(readability-redundant-declaration)
extern "C" char* openblas_get_corename() __attribute__((weak));
/// Version and options of OpenBLAS; null likewise.
// NOLINTNEXTLINE(readability-redundant-declaration)
extern "C" char* openblas_get_config() __attribute__((weak));

namespace echelon {

namespace blas {

namespace {

std::string_view name_of(VectorInstructions instructions) {
  constexpr std::array<std::string_view, 4> names = {"SSE", "AVX", "AVX2", "AVX-512"};
  return names[static_cast<std::size_t>(instructions)];
}

struct Kernels {
  std::string_view name;
  VectorInstructions instructions;
};

/// Kernel names of OpenBLAS for x86-64; of the many older ones with SSE only some are listed.
constexpr std::array<Kernels, 14> known_kernels = {{{"SapphireRapids", VectorInstructions::avx512},
                                                    {"Cooperlake", VectorInstructions::avx512},
                                                    {"SkylakeX", VectorInstructions::avx512},
                                                    {"Zen", VectorInstructions::avx2},
                                                    {"Haswell", VectorInstructions::avx2},
                                                    {"Excavator", VectorInstructions::avx2},
                                                    {"Steamroller", VectorInstructions::avx},
                                                    {"Piledriver", VectorInstructions::avx},
                                                    {"Bulldozer", VectorInstructions::avx},
                                                    {"Sandybridge", VectorInstructions::avx},
                                                    {"Nehalem", VectorInstructions::sse},
                                                    {"Barcelona", VectorInstructions::sse},
                                                    {"Core2", VectorInstructions::sse},
                                                    {"Prescott", VectorInstructions::sse}}};

}  // namespace

VectorInstructions vector_instructions() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return VectorInstructions::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return VectorInstructions::avx2;
  if (__builtin_cpu_supports("avx")) return VectorInstructions::avx;
#endif
  return VectorInstructions::sse;
}

std::optional<VectorInstructions> instructions_of_kernels(std::string_view kernels) {
  for (const Kernels& known : known_kernels) {
    if (known.name == kernels) return known.instructions;
  }
  return std::nullopt;
}

std::string describe_slow_kernels(std::string_view kernels, VectorInstructions processor) {
  const std::optional<VectorInstructions> used = instructions_of_kernels(kernels);
  if (!used || *used >= processor) return {};
  const std::string_view better = processor == VectorInstructions::avx512 ? "SkylakeX"
                                  : processor == VectorInstructions::avx2 ? "Haswell"
                                                                          : "Sandybridge";
  return fmt::format(
      "OpenBLAS runs its kernels for {} with {}, and the processor has {}: products of matrices may be "
      "faster "
      "with OPENBLAS_CORETYPE={} in the environment, or with a newer OpenBLAS",
      kernels, name_of(*used), name_of(processor), better);
}

std::string slow_kernels_warning(std::int64_t n) {
  constexpr std::int64_t worth_a_warning = 512;
  return n < worth_a_warning ? std::string() : host_blas().warning;
}

std::string describe_openblas(std::string config, std::string_view kernels) {
  config.erase(config.find_last_not_of(' ') + 1);
  if (config.find(kernels) == std::string::npos) config += fmt::format(", kernels {}", kernels);
  return config;
}

}  // namespace blas

HostBlas host_blas() {
  const char* const kernels = openblas_get_corename != nullptr ? openblas_get_corename() : "";
  return {kernels, blas::describe_slow_kernels(kernels, blas::vector_instructions()),
          openblas_get_config != nullptr ? blas::describe_openblas(openblas_get_config(), kernels) : ""};
}

}  // namespace echelon
