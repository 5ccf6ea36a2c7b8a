// SPDX-License-Identifier: BSD-3-Clause
/// Devices of all OpenCL drivers.
#pragma once

#include "backend/opencl/check.hpp"

#include <echelon/device.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon::opencl {

/// Forms of a compiled file that a driver takes.
enum class ModuleForm {
  none,
  spirv,    ///< SPIR-V, by clCreateProgramWithIL
  bitcode,  ///< SPIR 1.2 as bitcode of LLVM (cl_khr_spir), for PoCL before version 4
};

/// A device and what is known of it.
struct DriverDevice {
  cl_platform_id platform = nullptr;
  cl_device_id id = nullptr;
  OpenClDeviceInfo info;
  ModuleForm form = ModuleForm::none;
  bool is_processor = false;     ///< of the host: its memory is the host's
  bool rounds_floats = false;    ///< divides floats and takes their roots correctly rounded, on demand
  std::size_t memory = 0;        ///< bytes
  std::size_t largest_part = 0;  ///< bytes of one allocation, at most
  std::size_t group_size = 0;    ///< work-items of a group, at most
};

/// All devices: those that can be used before the others, GPUs before processors. The first call asks the
/// drivers; a driver that fails has no devices.
[[nodiscard]] const std::vector<DriverDevice>& driver_devices();
/// The device of this number. Throws NoDevice, with the reason if it cannot be used.
[[nodiscard]] const DriverDevice& usable_device(int number);

}  // namespace echelon::opencl
