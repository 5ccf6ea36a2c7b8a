// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/opencl/driver.hpp"
#include "backend/opencl/modules.hpp"

#include <filesystem>
#include <vector>

namespace echelon::opencl {

/// Builds the program of a module in the form that the device's driver takes. Throws OpenClError with the
/// driver's log. A program made from SPIR-V is kept in a file of `folder`, named by the module, the device
/// and its driver, and taken from there later; nothing is kept if `folder` is empty, or where a file cannot
/// be written. Drivers that take SPIR bitcode keep their programs themselves.
[[nodiscard]] cl_program build_program(cl_context context, const DriverDevice& device, const Module& module,
                                       const std::filesystem::path& folder);

/// Folder for programs of this user: $ECHELON_CACHE_DIR, else echelon/ in $XDG_CACHE_HOME or $HOME/.cache;
/// empty without any of them.
[[nodiscard]] std::filesystem::path program_folder();

}  // namespace echelon::opencl
