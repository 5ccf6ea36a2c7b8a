// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/libraries.cuh"
#include "backend/cuda/owned.cuh"

#include <echelon/error.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace echelon {

namespace {
std::string place(const std::source_location& where) {
  const std::string file = where.file_name();
  return " (" + file.substr(file.rfind('/') + 1) + ":" + std::to_string(where.line()) + ")";
}

/// Reports an allocation that failed inside a CUDA library, whose size is unknown.
[[noreturn]] void throw_out_of_memory() {
  int id = 0;
  std::size_t available = 0;
  std::size_t total = 0;
  cudaGetDevice(&id);
  cudaMemGetInfo(&available, &total);
  throw OutOfMemory(Device::cuda(id).name(), 0, available);
}
}  // namespace

void check(cudaError_t status, std::source_location where) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears a recoverable error, so that the next call may succeed
  if (status == cudaErrorMemoryAllocation) throw_out_of_memory();
  throw CudaError(std::string("CUDA: ") + cudaGetErrorString(status) + place(where));
}

void check(cublasStatus_t status, std::source_location where) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw_out_of_memory();
  throw CudaError(std::string("cuBLAS: ") + cublasGetStatusString(status) + place(where));
}

void check(cusolverStatus_t status, std::source_location where) {
  if (status == CUSOLVER_STATUS_SUCCESS) return;
  if (status == CUSOLVER_STATUS_ALLOC_FAILED) throw_out_of_memory();
  throw CudaError("cuSOLVER: status " + std::to_string(static_cast<int>(status)) + place(where));
}

namespace {
/// Twice the number of resident blocks of 256 threads: the second half balances uneven multiprocessors.
std::int64_t grid_limit(int id) {
  int processors = 0;
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, id));
  return std::int64_t{processors} * 16;
}
}  // namespace

namespace {

const Device& checked(const Device& device) {
  if (device.kind() == DeviceKind::cuda) return device;
  throw DeviceMismatch("a GPU cannot work in the memory of " + device.name() +
                       ": move the operand with to(device), or run on " + device.name());
}

}  // namespace

namespace {

/// Page-locked memory of a thread, from which copies need no staging by the driver.
constexpr std::size_t pinned_bytes = 4096;
void* pinned_memory() {
  thread_local const Owned<void*, cudaFreeHost> memory = make_owned<Owned<void*, cudaFreeHost>>(
      [](void** pointer) { return cudaHostAlloc(pointer, pinned_bytes, cudaHostAllocPortable); });
  return memory.get();
}

}  // namespace

void Cuda::read_bytes(const void* source, void* target, std::size_t bytes) {
  const CurrentDevice current(device_.id());
  void* const staged = bytes <= pinned_bytes ? pinned_memory() : target;
  check(cudaMemcpyAsync(staged, source, bytes, cudaMemcpyDeviceToHost, stream()));
  wait_for_stream();
  if (staged != target) std::memcpy(target, staged, bytes);
}

Cuda::Cuda(const Device& device) : device_(checked(device)), max_blocks_(grid_limit(device.id())) {}

void* Cuda::scratch(std::size_t bytes) {
  constexpr std::size_t min_bytes = std::size_t{1} << 18;  // enough for reductions: allocated once
  if (scratch_.bytes() < bytes) {
    scratch_ = Array<unsigned char>(device_, static_cast<std::int64_t>(std::max(bytes, min_bytes)));
  }
  return scratch_.data();
}

unsigned* Cuda::counters(std::int64_t n) {
  if (counters_.size() < n) {
    const CurrentDevice current(device_.id());
    counters_ = Array<unsigned>(device_, n);
    check(cudaMemsetAsync(counters_.data(), 0, counters_.bytes(), stream()));
  }
  return counters_.data();
}

cublasContext* Cuda::blas() {
  if (blas_ == nullptr) {
    const CurrentDevice current(device_.id());
    cublasHandle_t handle = nullptr;
    check(cublasCreate(&handle));
    blas_.reset(handle);
    check(cublasSetStream(handle, stream()));
  }
  return blas_.get();
}

void Cuda::DestroyBlas::operator()(cublasContext* handle) const {
  cublasDestroy(handle);
}

}  // namespace echelon
