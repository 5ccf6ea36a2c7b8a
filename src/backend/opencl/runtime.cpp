// SPDX-License-Identifier: BSD-3-Clause
#include "backend/opencl/runtime.hpp"

#include "backend/opencl/context.hpp"

#include <algorithm>

namespace echelon::opencl {

namespace {

void set_argument(cl_kernel kernel, cl_uint index, const Argument& argument) {
  if (argument.is_pointer) {
    check(clSetKernelArgSVMPointer(kernel, index, *static_cast<void* const*>(argument.value)),
          "clSetKernelArgSVMPointer");
  } else {
    check(clSetKernelArg(kernel, index, argument.size, argument.value), "clSetKernelArg");
  }
}

void queue_copy(int device, cl_bool waits, void* target, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  check(clEnqueueSVMMemcpy(DeviceContext::of(device).queue().get(), waits, target, source, bytes, 0, nullptr,
                           nullptr),
        "clEnqueueSVMMemcpy");
}

}  // namespace

void launch(int device, const void* kernel, LaunchSize size, std::span<const Argument> arguments) {
  ThreadQueue& queue = DeviceContext::of(device).queue();
  const cl_kernel found = queue.kernel(kernel);
  cl_uint index = 0;
  for (const Argument& argument : arguments) set_argument(found, index++, argument);
  const auto items = static_cast<std::size_t>(size.items);
  const std::size_t all_items = static_cast<std::size_t>(size.groups) * items;
  check(clEnqueueNDRangeKernel(queue.get(), found, 1, nullptr, &all_items, &items, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
}

void copy(int device, void* target, const void* source, std::size_t bytes) {
  queue_copy(device, CL_FALSE, target, source, bytes);
}

void read(int device, void* target, const void* source, std::size_t bytes) {
  queue_copy(device, CL_TRUE, target, source, bytes);
}

void write(int device, void* target, const void* source, std::size_t bytes) {
  queue_copy(device, CL_TRUE, target, source, bytes);
}

void synchronize(int device) {
  check(clFinish(DeviceContext::of(device).queue().get()), "clFinish");
}

/// A processor runs the items of a group in a loop, which is worth its start when it is long.
std::int64_t loop_group_size(int device) {
  const DriverDevice& used = DeviceContext::of(device).device();
  return static_cast<std::int64_t>(std::min<std::size_t>(used.group_size, used.is_processor ? 1024 : 256));
}

}  // namespace echelon::opencl
