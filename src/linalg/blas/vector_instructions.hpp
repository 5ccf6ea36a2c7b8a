// SPDX-License-Identifier: BSD-3-Clause
/// Vector instructions of this processor and of OpenBLAS's kernels. OpenBLAS selects kernels by the
/// processor's model: a version that is older than the processor may select kernels that do not use all its
/// instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace echelon::blas {

/// Sets of vector instructions, each of which includes those before it. `avx2` includes FMA, `avx512` the
/// sets F, DQ, BW and VL.
enum class VectorInstructions { sse, avx, avx2, avx512 };

/// Widest instructions of this processor.
[[nodiscard]] VectorInstructions vector_instructions();

/// Instructions of the kernels that OpenBLAS has for the processor of this name; no value for an unknown
/// name.
[[nodiscard]] std::optional<VectorInstructions> instructions_of_kernels(std::string_view kernels);

/// Instructions of a processor that kernels of this name lack, and the remedy; empty if they lack none.
[[nodiscard]] std::string describe_slow_kernels(std::string_view kernels, VectorInstructions processor);

/// OpenBLAS's description of itself, with the name of its kernels if that is not in it.
[[nodiscard]] std::string describe_openblas(std::string config, std::string_view kernels);

/// Warning of host_blas() for work with n by n matrices; empty if BLAS takes little time.
[[nodiscard]] std::string slow_kernels_warning(std::int64_t n);

}  // namespace echelon::blas
