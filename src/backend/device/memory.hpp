// SPDX-License-Identifier: BSD-3-Clause
/// Memory of GPUs, for code that nvcc does not compile.
#pragma once

#include <echelon/device.hpp>

#include <cstddef>
#include <string>

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
