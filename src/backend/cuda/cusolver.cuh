// SPDX-License-Identifier: BSD-3-Clause
/// cuSOLVER, a library of 200 MB that few methods need: it is loaded when they call it first.
#pragma once

#include "backend/cuda/libraries.cuh"
#include "backend/cuda/owned.cuh"

#include <echelon/device.hpp>

#include <thread>

namespace echelon {

/// Functions of cuSOLVER, by their names without the prefix.
struct CusolverFunctions {
  decltype(&cusolverDnCreate) DnCreate = nullptr;
  decltype(&cusolverDnDestroy) DnDestroy = nullptr;
  decltype(&cusolverDnSetStream) DnSetStream = nullptr;
  decltype(&cusolverDnCreateParams) DnCreateParams = nullptr;
  decltype(&cusolverDnDestroyParams) DnDestroyParams = nullptr;
  decltype(&cusolverDnSpotrf_bufferSize) DnSpotrf_bufferSize = nullptr;
  decltype(&cusolverDnDpotrf_bufferSize) DnDpotrf_bufferSize = nullptr;
  decltype(&cusolverDnZpotrf_bufferSize) DnZpotrf_bufferSize = nullptr;
  decltype(&cusolverDnSpotrf) DnSpotrf = nullptr;
  decltype(&cusolverDnDpotrf) DnDpotrf = nullptr;
  decltype(&cusolverDnZpotrf) DnZpotrf = nullptr;
  decltype(&cusolverDnSgetrf_bufferSize) DnSgetrf_bufferSize = nullptr;
  decltype(&cusolverDnDgetrf_bufferSize) DnDgetrf_bufferSize = nullptr;
  decltype(&cusolverDnZgetrf_bufferSize) DnZgetrf_bufferSize = nullptr;
  decltype(&cusolverDnSgetrf) DnSgetrf = nullptr;
  decltype(&cusolverDnDgetrf) DnDgetrf = nullptr;
  decltype(&cusolverDnZgetrf) DnZgetrf = nullptr;
  decltype(&cusolverDnXgetrf_bufferSize) DnXgetrf_bufferSize = nullptr;
  decltype(&cusolverDnXgetrf) DnXgetrf = nullptr;
  decltype(&cusolverDnXgetrs) DnXgetrs = nullptr;
  decltype(&cusolverDnXpotrf_bufferSize) DnXpotrf_bufferSize = nullptr;
  decltype(&cusolverDnXpotrf) DnXpotrf = nullptr;
  decltype(&cusolverDnXpotrs) DnXpotrs = nullptr;
  decltype(&cusolverDnXgeqrf_bufferSize) DnXgeqrf_bufferSize = nullptr;
  decltype(&cusolverDnXgeqrf) DnXgeqrf = nullptr;
  decltype(&cusolverDnSormqr_bufferSize) DnSormqr_bufferSize = nullptr;
  decltype(&cusolverDnDormqr_bufferSize) DnDormqr_bufferSize = nullptr;
  decltype(&cusolverDnSormqr) DnSormqr = nullptr;
  decltype(&cusolverDnDormqr) DnDormqr = nullptr;
  decltype(&cusolverDnSorgqr_bufferSize) DnSorgqr_bufferSize = nullptr;
  decltype(&cusolverDnDorgqr_bufferSize) DnDorgqr_bufferSize = nullptr;
  decltype(&cusolverDnZungqr_bufferSize) DnZungqr_bufferSize = nullptr;
  decltype(&cusolverDnSorgqr) DnSorgqr = nullptr;
  decltype(&cusolverDnDorgqr) DnDorgqr = nullptr;
  decltype(&cusolverDnZungqr) DnZungqr = nullptr;
};

/// Finds all functions in a library, "libcusolver.so.12" say. Throws CudaError that names the library, the
/// reason and the remedy.
[[nodiscard]] CusolverFunctions load_cusolver(const char* library);

/// Functions of the version of cuSOLVER that the library was compiled for, loaded by the first call. Throws
/// as load_cusolver does, on each call until it succeeds.
const CusolverFunctions& cusolver();

inline cusolverStatus_t destroy_cusolver(cusolverDnHandle_t handle) {
  return cusolver().DnDestroy(handle);
}
inline cusolverStatus_t destroy_parameters(cusolverDnParams_t parameters) {
  return cusolver().DnDestroyParams(parameters);
}
using CusolverParameters = Owned<cusolverDnParams_t, destroy_parameters>;

/// A cuSOLVER handle on a device and on the calling thread's stream, for one thread at a time. Creating one
/// takes longer than a small factorisation: a thread keeps those that it no longer needs for its next ones.
class CusolverHandle {
 public:
  explicit CusolverHandle(const Device& device);
  CusolverHandle(CusolverHandle&&) noexcept = default;
  CusolverHandle(const CusolverHandle&) = delete;
  CusolverHandle& operator=(const CusolverHandle&) = delete;
  ~CusolverHandle();

  [[nodiscard]] cusolverDnHandle_t get() const { return handle_.get(); }

 private:
  int device_;
  std::thread::id thread_;
  Owned<cusolverDnHandle_t, destroy_cusolver> handle_;
};

}  // namespace echelon
