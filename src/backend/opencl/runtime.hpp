// SPDX-License-Identifier: BSD-3-Clause
/// Launches and copies on an OpenCL device, without OpenCL's headers: the compilation for OpenCL, which makes
/// the kernels, includes this file. Work is queued in the order of the calling thread, which has a queue of
/// its own on each device. All functions throw OpenClError for a call that the driver refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace echelon::opencl {

/// Argument of a kernel.
struct Argument {
  const void* value;  ///< null for local memory, of which each group gets `size` bytes
  std::size_t size;
  bool is_pointer;  ///< the value is an address in the device's memory
};

/// Size of a launch: groups of `items` work-items.
struct LaunchSize {
  std::int64_t groups;
  std::int64_t items;
};

/// Queues a kernel, named by the address of its handle in host code. The first use of a file's kernels builds
/// their program.
void launch(int device, const void* kernel, LaunchSize size, std::span<const Argument> arguments);
/// Queues a copy on the device.
void copy(int device, void* target, const void* source, std::size_t bytes);
/// Copies to the host and waits.
void read(int device, void* target, const void* source, std::size_t bytes);
/// Copies from the host; the source may change afterwards.
void write(int device, void* target, const void* source, std::size_t bytes);
/// Waits for the calling thread's queue.
void synchronize(int device);

/// Number of work-items of a group in loops without local memory.
std::int64_t loop_group_size(int device);

}  // namespace echelon::opencl
