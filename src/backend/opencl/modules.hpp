// SPDX-License-Identifier: BSD-3-Clause
/// Compiled files and their kernels, which register themselves when the library is loaded.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace echelon::opencl {

/// A compiled file in both forms, as scripts of the build embed it.
struct Module {
  std::span<const unsigned char> spirv;
  std::span<const unsigned char> bitcode;
};

/// Kernel `name` of module number `module`.
struct KernelName {
  std::size_t module = 0;
  std::string name;
};

[[nodiscard]] const Module& module_of(std::size_t number);
/// The kernel with this handle in host code. Throws OpenClError if none is registered.
[[nodiscard]] const KernelName& kernel_name(const void* handle);

}  // namespace echelon::opencl
