// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/cusolver.cuh"

#include <echelon/error.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// A library that stays loaded until the program ends.
class LoadedLibrary {
 public:
  explicit LoadedLibrary(const char* name) : name_(name), handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) fail();
  }

  template <class Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    if (function == nullptr) fail();
  }

 private:
  [[noreturn]] void fail() const {
    const char* const reason = ::dlerror();
    throw CudaError(
        "cannot load cuSOLVER from " + std::string(name_) + ": " +
        (reason != nullptr ? reason : "unknown reason") +
        "; install this library of the CUDA toolkit, name its folder in LD_LIBRARY_PATH, or choose "
        "another method");
  }

  const char* name_;
  void* handle_;
};

constexpr int cusolver_version = CUSOLVER_VER_MAJOR;

}  // namespace

CusolverFunctions load_cusolver(const char* library) {
  const LoadedLibrary loaded(library);
  CusolverFunctions functions;
  loaded.find(functions.DnCreate, "cusolverDnCreate");
  loaded.find(functions.DnDestroy, "cusolverDnDestroy");
  loaded.find(functions.DnSetStream, "cusolverDnSetStream");
  loaded.find(functions.DnCreateParams, "cusolverDnCreateParams");
  loaded.find(functions.DnDestroyParams, "cusolverDnDestroyParams");
  loaded.find(functions.DnSpotrf_bufferSize, "cusolverDnSpotrf_bufferSize");
  loaded.find(functions.DnDpotrf_bufferSize, "cusolverDnDpotrf_bufferSize");
  loaded.find(functions.DnZpotrf_bufferSize, "cusolverDnZpotrf_bufferSize");
  loaded.find(functions.DnSpotrf, "cusolverDnSpotrf");
  loaded.find(functions.DnDpotrf, "cusolverDnDpotrf");
  loaded.find(functions.DnZpotrf, "cusolverDnZpotrf");
  loaded.find(functions.DnSgetrf_bufferSize, "cusolverDnSgetrf_bufferSize");
  loaded.find(functions.DnDgetrf_bufferSize, "cusolverDnDgetrf_bufferSize");
  loaded.find(functions.DnZgetrf_bufferSize, "cusolverDnZgetrf_bufferSize");
  loaded.find(functions.DnSgetrf, "cusolverDnSgetrf");
  loaded.find(functions.DnDgetrf, "cusolverDnDgetrf");
  loaded.find(functions.DnZgetrf, "cusolverDnZgetrf");
  loaded.find(functions.DnXgetrf_bufferSize, "cusolverDnXgetrf_bufferSize");
  loaded.find(functions.DnXgetrf, "cusolverDnXgetrf");
  loaded.find(functions.DnXgetrs, "cusolverDnXgetrs");
  loaded.find(functions.DnXpotrf_bufferSize, "cusolverDnXpotrf_bufferSize");
  loaded.find(functions.DnXpotrf, "cusolverDnXpotrf");
  loaded.find(functions.DnXpotrs, "cusolverDnXpotrs");
  loaded.find(functions.DnXgeqrf_bufferSize, "cusolverDnXgeqrf_bufferSize");
  loaded.find(functions.DnXgeqrf, "cusolverDnXgeqrf");
  loaded.find(functions.DnSormqr_bufferSize, "cusolverDnSormqr_bufferSize");
  loaded.find(functions.DnDormqr_bufferSize, "cusolverDnDormqr_bufferSize");
  loaded.find(functions.DnSormqr, "cusolverDnSormqr");
  loaded.find(functions.DnDormqr, "cusolverDnDormqr");
  loaded.find(functions.DnSorgqr_bufferSize, "cusolverDnSorgqr_bufferSize");
  loaded.find(functions.DnDorgqr_bufferSize, "cusolverDnDorgqr_bufferSize");
  loaded.find(functions.DnZungqr_bufferSize, "cusolverDnZungqr_bufferSize");
  loaded.find(functions.DnSorgqr, "cusolverDnSorgqr");
  loaded.find(functions.DnDorgqr, "cusolverDnDorgqr");
  loaded.find(functions.DnZungqr, "cusolverDnZungqr");
  return functions;
}

const CusolverFunctions& cusolver() {
  static const CusolverFunctions functions =
      load_cusolver(("libcusolver.so." + std::to_string(cusolver_version)).c_str());
  return functions;
}

namespace {

/// A handle that is not in use, and its device.
struct FreeHandle {
  int device;
  Owned<cusolverDnHandle_t, destroy_cusolver> handle;
};

std::vector<FreeHandle>& free_handles() {
  thread_local std::vector<FreeHandle> handles;
  return handles;
}

}  // namespace

CusolverHandle::CusolverHandle(const Device& device)
    : device_(device.id()), thread_(std::this_thread::get_id()) {
  std::vector<FreeHandle>& handles = free_handles();
  const auto place = std::find_if(handles.begin(), handles.end(),
                                  [&](const FreeHandle& free) { return free.device == device_; });
  if (place != handles.end()) {
    handle_ = std::move(place->handle);
    handles.erase(place);
    return;
  }
  const CurrentDevice current(device_);
  handle_ = make_owned<Owned<cusolverDnHandle_t, destroy_cusolver>>(cusolver().DnCreate);
  check(cusolver().DnSetStream(handle_.get(), stream()));
}

CusolverHandle::~CusolverHandle() {
  if (handle_ == nullptr || std::this_thread::get_id() != thread_) return;  // on another thread's stream
  try {
    free_handles().push_back({device_, std::move(handle_)});
  } catch (const std::bad_alloc&) {
    handle_.reset();
  }
}

}  // namespace echelon
