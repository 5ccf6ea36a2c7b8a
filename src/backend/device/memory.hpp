// SPDX-License-Identifier: BSD-3-Clause
/// Memory of GPUs and OpenCL devices, for code that neither nvcc nor the compiler for OpenCL compiles.
#pragma once

#include <echelon/device.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace echelon::cuda_memory {

/// Defined by cuda/memory.cu, or by cuda/cuda_absent.cpp when the library is built without CUDA.
bool built();
int device_count() noexcept;
std::string hardware(int id);
MemoryInfo info(int id);
void* allocate(int id, std::size_t bytes);
void deallocate(int id, void* pointer) noexcept;
enum class CopyDirection { to_device, to_host, on_device };
void copy(CopyDirection direction, int target_id, void* target, int source_id, const void* source,
          std::size_t bytes);

}  // namespace echelon::cuda_memory

namespace echelon::opencl_memory {

/// Defined in opencl/, or by opencl/opencl_absent.cpp when the library is built without OpenCL. Copies wait.
bool built();
int device_count() noexcept;
std::vector<OpenClDeviceInfo> devices();
/// Throws NotBuilt, or NoDevice for a device that is absent or cannot be used, with the reason.
void require(int id);
MemoryInfo info(int id);
void* allocate(int id, std::size_t bytes);
void deallocate(int id, void* pointer) noexcept;
/// Copies between the host and the device, in either direction, or on the device.
void copy(int id, void* target, const void* source, std::size_t bytes);

}  // namespace echelon::opencl_memory
