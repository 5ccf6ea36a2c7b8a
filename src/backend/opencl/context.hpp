// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/opencl/driver.hpp"
#include "backend/opencl/modules.hpp"
#include "backend/opencl/pool.hpp"

#include <echelon/device.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace echelon::opencl {

class DeviceContext;

/// Queue of a thread on a device, with its kernels: setting arguments is not thread-safe.
class ThreadQueue {
 public:
  explicit ThreadQueue(DeviceContext& context);
  ThreadQueue(const ThreadQueue&) = delete;
  ThreadQueue& operator=(const ThreadQueue&) = delete;
  /// Waits for the queued work.
  ~ThreadQueue();

  [[nodiscard]] cl_command_queue get() const { return queue_; }
  [[nodiscard]] DeviceContext& context() const { return context_; }
  /// The kernel, which is told the blocks of memory that there are.
  [[nodiscard]] cl_kernel kernel(const void* handle);

 private:
  struct Kernel {
    cl_kernel kernel = nullptr;
    std::uint64_t known_blocks = 0;  ///< DeviceContext::block_generation() of the blocks that it was told
  };

  DeviceContext& context_;
  cl_command_queue queue_;
  std::unordered_map<const void*, Kernel> kernels_;
};

/// A device in use: its programs, its memory and the queues of all threads. Thread-safe.
class DeviceContext {
 public:
  explicit DeviceContext(int number);
  DeviceContext(const DeviceContext&) = delete;
  DeviceContext& operator=(const DeviceContext&) = delete;

  /// The context of a device, which is made by the first call and lasts until the process ends.
  [[nodiscard]] static DeviceContext& of(int number);

  [[nodiscard]] const DriverDevice& device() const { return device_; }
  [[nodiscard]] cl_context get() const { return context_; }
  /// The calling thread's queue.
  [[nodiscard]] ThreadQueue& queue();

  /// The program of a module, which the first call builds.
  [[nodiscard]] cl_program program(std::size_t module);

  /// Memory that the calling thread's queue may use. Throws OutOfMemory.
  [[nodiscard]] void* allocate(std::size_t bytes);
  void deallocate(void* pointer) noexcept;
  [[nodiscard]] MemoryInfo memory();
  /// Grows with each change of the blocks of memory.
  [[nodiscard]] std::uint64_t block_generation() const { return block_generation_; }
  [[nodiscard]] std::vector<void*> blocks();

 private:
  friend ThreadQueue;
  /// Waits for the work of a queue, or of all for BlockPool::any_queue().
  void finish(BlockPool::Queue queue);
  /// Adds a block for an allocation; false if the device has no memory for it.
  bool add_block(std::size_t bytes);
  /// Bytes that one more block may have.
  [[nodiscard]] std::size_t available() const;

  int number_;
  const DriverDevice& device_;
  cl_context context_ = nullptr;
  std::mutex programs_mutex_;
  std::map<std::size_t, cl_program> programs_;
  std::mutex memory_mutex_;
  BlockPool pool_;
  std::atomic<std::uint64_t> block_generation_{0};
  std::mutex queues_mutex_;
  std::vector<cl_command_queue> queues_;
};

}  // namespace echelon::opencl
