// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace echelon::tool {

/// Commit of the sources; -dirty if they differ from it, or "unknown". CMake writes its definition.
[[nodiscard]] const char* source_commit();

/// Version, commit, compiler, BLAS, instruction sets and whether CUDA is built in, a line for each.
[[nodiscard]] std::string version_text();

}  // namespace echelon::tool
