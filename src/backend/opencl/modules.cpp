// SPDX-License-Identifier: BSD-3-Clause
#include "backend/opencl/modules.hpp"

#include <echelon/error.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

namespace echelon::opencl {

namespace {

/// Filled by constructors of files before main, or when the library is loaded; constant afterwards.
struct Registry {
  std::vector<Module> modules;
  std::unordered_map<const void*, KernelName> kernels;
};
Registry& registry() {
  static auto* const registry = new Registry;
  return *registry;
}

/// Bytes that follow their number, which takes 8 bytes.
std::span<const unsigned char> sized_bytes(const unsigned char* at) {
  std::uint64_t size = 0;
  std::memcpy(&size, at, sizeof(size));
  return {at + sizeof(size), static_cast<std::size_t>(size)};
}

}  // namespace

const Module& module_of(std::size_t number) {
  return registry().modules[number];
}

const KernelName& kernel_name(const void* handle) {
  const auto found = registry().kernels.find(handle);
  if (found == registry().kernels.end()) throw OpenClError("a kernel is not registered for OpenCL");
  return found->second;
}

}  // namespace echelon::opencl

// Functions that Clang's host code of a file calls when it is loaded. The build renames them from those of
// the HIP run time, of which a program may link the true ones.
extern "C" {

/// Compiled file as Clang passes it.
struct EchelonOpenClImage {
  unsigned magic;
  unsigned version;
  const unsigned char* bytes;
  void* unused;
};

/// Returns the module's number plus one, as an opaque address.
void** echelon_opencl_register_module(const EchelonOpenClImage* image) {
  using namespace echelon::opencl;
  const std::span<const unsigned char> spirv = sized_bytes(image->bytes);
  const std::span<const unsigned char> bitcode = sized_bytes(spirv.data() + spirv.size());
  registry().modules.push_back({spirv, bitcode});
  return reinterpret_cast<void**>(registry().modules.size());
}

/// A kernel that several files have is that of the first one.
void echelon_opencl_register_kernel(void** module, const void* handle, char* /*host_name*/, const char* name,
                                    unsigned /*thread_limit*/, void* /*thread*/, void* /*block*/,
                                    void* /*block_size*/, void* /*grid_size*/, int* /*warp_size*/) {
  using namespace echelon::opencl;
  registry().kernels.try_emplace(handle, KernelName{reinterpret_cast<std::size_t>(module) - 1, name});
}

void echelon_opencl_register_variable(void** /*module*/, void* /*variable*/, char* /*host_name*/,
                                      char* /*name*/, int /*is_external*/, std::size_t /*size*/,
                                      int /*is_constant*/, int /*is_global*/) {}

void echelon_opencl_unregister_module(void** /*module*/) {}

/// Called by a kernel's host function, of which only the address is used.
int echelon_opencl_launch() {
  std::abort();
}
int echelon_opencl_pop_configuration() {
  std::abort();
}
}
