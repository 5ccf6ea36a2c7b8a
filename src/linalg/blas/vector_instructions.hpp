// SPDX-License-Identifier: BSD-3-Clause
/// Vector instructions of this processor and of OpenBLAS's kernels, which are chosen by the processor's
/// model: an OpenBLAS that is older than the processor may choose kernels that use less than the processor
/// has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace echelon::blas {

/// Each includes those before it. `avx2` includes FMA, `avx512` the sets F, DQ, BW and VL.
enum class VectorInstructions { sse, avx, avx2, avx512 };

/// Those of this processor.
[[nodiscard]] VectorInstructions vector_instructions();

/// Those of the kernels that OpenBLAS has for the processor of this name, or nothing if it is not known.
[[nodiscard]] std::optional<VectorInstructions> instructions_of_kernels(std::string_view kernels);

/// The instructions of a processor that kernels of this name lack, and the remedy, or nothing.
[[nodiscard]] std::string describe_slow_kernels(std::string_view kernels, VectorInstructions processor);

/// The warning of host_blas() for work with n by n matrices, or nothing where BLAS takes little time.
[[nodiscard]] std::string slow_kernels_warning(std::int64_t n);

}  // namespace echelon::blas
