// SPDX-License-Identifier: BSD-3-Clause
#include "backend/opencl/context.hpp"

#include "backend/device/memory_limits.hpp"
#include "backend/opencl/program.hpp"

#include <echelon/error.hpp>

#include <algorithm>
#include <utility>

namespace echelon::opencl {

namespace {

/// Bytes of a block of small allocations. Larger allocations have blocks of their own.
constexpr std::size_t block_bytes = std::size_t{32} << 20;
/// Whether the queues of this thread are gone, since it ends.
thread_local bool has_ended = false;
/// Queues of a thread by their contexts.
struct ThreadQueues {
  ThreadQueues() = default;
  ThreadQueues(const ThreadQueues&) = delete;
  ThreadQueues& operator=(const ThreadQueues&) = delete;
  ~ThreadQueues() { has_ended = true; }
  std::map<const DeviceContext*, std::unique_ptr<ThreadQueue>> of;
};

/// Bytes of free blocks that are kept for later allocations.
constexpr std::size_t kept_bytes = std::size_t{512} << 20;

}  // namespace

ThreadQueue::ThreadQueue(DeviceContext& context) : context_(context) {
  cl_int status = CL_SUCCESS;
  queue_ = clCreateCommandQueueWithProperties(context.get(), context.device().id, nullptr, &status);
  check(status, "clCreateCommandQueueWithProperties");
  const std::lock_guard lock(context_.queues_mutex_);
  context_.queues_.push_back(queue_);
}

ThreadQueue::~ThreadQueue() {
  clFinish(queue_);
  {
    const std::lock_guard lock(context_.queues_mutex_);
    std::erase(context_.queues_, queue_);
  }
  for (const auto& [handle, kernel] : kernels_) clReleaseKernel(kernel.kernel);
  clReleaseCommandQueue(queue_);
}

cl_kernel ThreadQueue::kernel(const void* handle) {
  Kernel& kernel = kernels_[handle];
  if (kernel.kernel == nullptr) {
    const KernelName& name = kernel_name(handle);
    cl_int status = CL_SUCCESS;
    kernel.kernel = clCreateKernel(context_.program(name.module), name.name.c_str(), &status);
    check(status, "clCreateKernel");
  }
  const std::uint64_t generation = context_.block_generation();
  if (kernel.known_blocks != generation) {
    const std::vector<void*> blocks = context_.blocks();
    check(clSetKernelExecInfo(kernel.kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, blocks.size() * sizeof(void*),
                              static_cast<const void*>(blocks.data())),
          "clSetKernelExecInfo");
    kernel.known_blocks = generation;
  }
  return kernel.kernel;
}

DeviceContext::DeviceContext(int number) : number_(number), device_(usable_device(number)) {
  cl_int status = CL_SUCCESS;
  context_ = clCreateContext(nullptr, 1, &device_.id, nullptr, nullptr, &status);
  check(status, "clCreateContext");
}

DeviceContext& DeviceContext::of(int number) {
  // Contexts are not destroyed: queues of threads, and memory, may outlive any static object.
  static std::mutex mutex;
  static auto* const contexts = new std::map<int, std::unique_ptr<DeviceContext>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<DeviceContext>& context = (*contexts)[number];
  if (context == nullptr) context = std::make_unique<DeviceContext>(number);
  return *context;
}

ThreadQueue& DeviceContext::queue() {
  if (has_ended) throw OpenClError("OpenCL: a thread queues work after its end");
  thread_local ThreadQueues queues;
  std::unique_ptr<ThreadQueue>& queue = queues.of[this];
  if (queue == nullptr) queue = std::make_unique<ThreadQueue>(*this);
  return *queue;
}

cl_program DeviceContext::program(std::size_t module) {
  const std::lock_guard lock(programs_mutex_);
  cl_program& program = programs_[module];
  if (program == nullptr) program = build_program(context_, device_, module_of(module), program_folder());
  return program;
}

void* DeviceContext::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const BlockPool::Queue own = queue().get();
  const std::lock_guard lock(memory_mutex_);
  auto found = pool_.take(bytes);
  if (!found) {
    if (!add_block(bytes)) {
      throw OutOfMemory(Device::opencl(number_).name(), bytes, std::min(available(), device_.largest_part));
    }
    found = pool_.take(bytes);
  }
  if (found->last_user != BlockPool::no_queue && found->last_user != own) finish(found->last_user);
  return found->address;
}

bool DeviceContext::add_block(std::size_t bytes) {
  constexpr std::size_t unit = BlockPool::alignment;
  if (bytes > device_.largest_part) return false;
  const std::size_t size = std::max((bytes + unit - 1) / unit * unit, std::min(block_bytes, available()));
  const auto allocate_block = [&] {
    return size > available() ? nullptr : clSVMAlloc(context_, CL_MEM_READ_WRITE, size, unit);
  };
  void* block = allocate_block();
  if (block == nullptr) {
    finish(BlockPool::any_queue());
    while (const auto free_block = pool_.remove_free_block()) clSVMFree(context_, *free_block);
    block = allocate_block();
  }
  ++block_generation_;
  if (block == nullptr) return false;
  pool_.add_block(block, size);
  return true;
}

void DeviceContext::deallocate(void* pointer) noexcept {
  if (pointer == nullptr) return;
  const BlockPool::Queue user = has_ended ? BlockPool::any_queue() : queue().get();
  const std::lock_guard lock(memory_mutex_);
  pool_.release(pointer, user);
  while (pool_.total() - pool_.used() > kept_bytes) {
    const auto block = pool_.remove_free_block();
    if (!block) return;
    finish(BlockPool::any_queue());
    clSVMFree(context_, *block);
    ++block_generation_;
  }
}

std::size_t DeviceContext::available() const {
  if (device_.is_processor) return host_memory().info.available;
  return device_.memory - std::min(device_.memory, pool_.total());
}

MemoryInfo DeviceContext::memory() {
  const std::lock_guard lock(memory_mutex_);
  return {device_.memory, available() + pool_.total() - pool_.used()};
}

std::vector<void*> DeviceContext::blocks() {
  const std::lock_guard lock(memory_mutex_);
  std::vector<void*> addresses;
  for (const auto& [address, bytes] : pool_.blocks()) addresses.push_back(address);
  return addresses;
}

void DeviceContext::finish(BlockPool::Queue queue) {
  std::vector<cl_command_queue> waited;
  {
    const std::lock_guard lock(queues_mutex_);
    for (cl_command_queue other : queues_) {
      if (queue != BlockPool::any_queue() && queue != other) continue;
      clRetainCommandQueue(other);
      waited.push_back(other);
    }
  }
  for (cl_command_queue other : waited) {
    clFinish(other);
    clReleaseCommandQueue(other);
  }
}

}  // namespace echelon::opencl
