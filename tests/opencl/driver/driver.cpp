// SPDX-License-Identifier: BSD-3-Clause
// A driver of OpenCL for tests, which the loader finds by OCL_ICD_VENDORS. Each of its devices lacks one
// thing that the library needs. Memory is the host's; no device runs a kernel.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_icd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

struct Device {
  cl_icd_dispatch* dispatch;
  const char* name;
  const char* extensions;
  const char* il_version;
  cl_device_fp_config double_config;
  cl_device_svm_capabilities shared_memory;
  bool is_available;
  bool has_memory;
};

// The types that OpenCL's headers declare; objects begin with the table of functions.
struct _cl_platform_id {
  cl_icd_dispatch* dispatch;
};
struct _cl_device_id : Device {};
struct _cl_context {
  cl_icd_dispatch* dispatch;
  cl_device_id device;
};
struct _cl_command_queue {
  cl_icd_dispatch* dispatch;
};
struct _cl_program {
  cl_icd_dispatch* dispatch;
};

namespace {

extern cl_icd_dispatch table;

constexpr const char* extensions = "cl_khr_icd cl_khr_fp64 cl_khr_int64_base_atomics";
constexpr const char* spirv = "SPIR-V_1.2";
constexpr cl_device_fp_config rounds = CL_FP_ROUND_TO_NEAREST | CL_FP_FMA | CL_FP_INF_NAN;
constexpr cl_device_svm_capabilities coarse = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;

_cl_platform_id platform{&table};
_cl_device_id devices[] = {
    {{&table, "without double precision", extensions, spirv, 0, coarse, true, true}},
    {{&table, "without shared memory", extensions, spirv, rounds, 0, true, true}},
    {{&table, "without wide atomics", "cl_khr_fp64", spirv, rounds, coarse, true, true}},
    {{&table, "source only", extensions, "", rounds, coarse, true, true}},
    {{&table, "not available", extensions, spirv, rounds, coarse, false, true}},
    {{&table, "without compiler", extensions, spirv, rounds, coarse, true, true}},
    {{&table, "without memory", extensions, spirv, rounds, coarse, true, false}},
};

cl_int put(const void* value, std::size_t bytes, std::size_t size, void* target, std::size_t* needed) {
  if (needed != nullptr) *needed = bytes;
  if (target == nullptr) return CL_SUCCESS;
  if (size < bytes) return CL_INVALID_VALUE;
  std::memcpy(target, value, bytes);
  return CL_SUCCESS;
}
cl_int put(const char* text, std::size_t size, void* target, std::size_t* needed) {
  return put(text, std::strlen(text) + 1, size, target, needed);
}
template <class V>
cl_int put_value(V value, std::size_t size, void* target, std::size_t* needed) {
  return put(&value, sizeof(V), size, target, needed);
}

cl_int CL_API_CALL get_platforms(cl_uint count, cl_platform_id* platforms, cl_uint* found) {
  if (found != nullptr) *found = 1;
  if (platforms != nullptr && count > 0) platforms[0] = &platform;
  return CL_SUCCESS;
}

cl_int CL_API_CALL platform_info(cl_platform_id /*platform*/, cl_platform_info name, std::size_t size,
                                 void* target, std::size_t* needed) {
  switch (name) {
    case CL_PLATFORM_NAME:
      return put("Test driver", size, target, needed);
    case CL_PLATFORM_VERSION:
      return put("OpenCL 3.0 test", size, target, needed);
    case CL_PLATFORM_EXTENSIONS:
      return put("cl_khr_icd", size, target, needed);
    case CL_PLATFORM_ICD_SUFFIX_KHR:
      return put("TEST", size, target, needed);
    default:
      return put("", size, target, needed);
  }
}

cl_int CL_API_CALL get_devices(cl_platform_id /*platform*/, cl_device_type /*type*/, cl_uint count,
                               cl_device_id* list, cl_uint* found) {
  constexpr cl_uint all = std::size(devices);
  if (found != nullptr) *found = all;
  for (cl_uint i = 0; list != nullptr && i < std::min(count, all); ++i) list[i] = devices + i;
  return CL_SUCCESS;
}

cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info name, std::size_t size, void* target,
                               std::size_t* needed) {
  constexpr cl_ulong memory = cl_ulong{1} << 30;
  switch (name) {
    case CL_DEVICE_NAME:
      return put(device->name, size, target, needed);
    case CL_DRIVER_VERSION:
      return put("1.0", size, target, needed);
    case CL_DEVICE_EXTENSIONS:
      return put(device->extensions, size, target, needed);
    case CL_DEVICE_IL_VERSION:
      return put(device->il_version, size, target, needed);
    case CL_DEVICE_DOUBLE_FP_CONFIG:
      return put_value(device->double_config, size, target, needed);
    case CL_DEVICE_SVM_CAPABILITIES:
      return put_value(device->shared_memory, size, target, needed);
    case CL_DEVICE_AVAILABLE:
      return put_value(static_cast<cl_bool>(device->is_available ? CL_TRUE : CL_FALSE), size, target, needed);
    case CL_DEVICE_TYPE:
      return put_value(cl_device_type{CL_DEVICE_TYPE_GPU}, size, target, needed);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
      return put_value(memory, size, target, needed);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      return put_value(std::size_t{256}, size, target, needed);
    default:
      return CL_INVALID_VALUE;
  }
}

template <class Object>
Object made(Object object, cl_int* status) {
  if (status != nullptr) *status = CL_SUCCESS;
  return object;
}

cl_context CL_API_CALL make_context(const cl_context_properties* /*properties*/, cl_uint /*count*/,
                                    const cl_device_id* list,
                                    void(CL_CALLBACK* /*notify*/)(const char*, const void*, std::size_t,
                                                                  void*),
                                    void* /*data*/, cl_int* status) {
  return made(new _cl_context{&table, list[0]}, status);
}
cl_command_queue CL_API_CALL make_queue(cl_context /*context*/, cl_device_id /*device*/,
                                        const cl_queue_properties* /*properties*/, cl_int* status) {
  return made(new _cl_command_queue{&table}, status);
}
cl_int CL_API_CALL keep_queue(cl_command_queue /*queue*/) {
  return CL_SUCCESS;
}
cl_int CL_API_CALL finish(cl_command_queue /*queue*/) {
  return CL_SUCCESS;
}

void* CL_API_CALL allocate(cl_context context, cl_svm_mem_flags /*flags*/, std::size_t bytes,
                           cl_uint alignment) {
  return context->device->has_memory ? std::aligned_alloc(alignment, bytes) : nullptr;
}
void CL_API_CALL release(cl_context /*context*/, void* pointer) {
  std::free(pointer);
}
cl_int CL_API_CALL copy(cl_command_queue /*queue*/, cl_bool /*waits*/, void* target, const void* source,
                        std::size_t bytes, cl_uint /*count*/, const cl_event* /*events*/,
                        cl_event* /*event*/) {
  std::memcpy(target, source, bytes);
  return CL_SUCCESS;
}

cl_program CL_API_CALL make_program(cl_context /*context*/, const void* /*module*/, std::size_t /*bytes*/,
                                    cl_int* status) {
  return made(new _cl_program{&table}, status);
}
cl_int CL_API_CALL build(cl_program /*program*/, cl_uint /*count*/, const cl_device_id* /*list*/,
                         const char* /*options*/, void(CL_CALLBACK* /*notify*/)(cl_program, void*),
                         void* /*data*/) {
  return CL_BUILD_PROGRAM_FAILURE;
}
cl_int CL_API_CALL build_info(cl_program /*program*/, cl_device_id /*device*/, cl_program_build_info name,
                              std::size_t size, void* target, std::size_t* needed) {
  if (name != CL_PROGRAM_BUILD_LOG) return CL_INVALID_VALUE;
  return put("line 7: this device has no compiler", size, target, needed);
}
cl_int CL_API_CALL release_program(cl_program program) {
  delete program;
  return CL_SUCCESS;
}

cl_icd_dispatch make_table() {
  cl_icd_dispatch result{};
  result.clGetPlatformIDs = get_platforms;
  result.clGetPlatformInfo = platform_info;
  result.clGetDeviceIDs = get_devices;
  result.clGetDeviceInfo = device_info;
  result.clCreateContext = make_context;
  result.clCreateCommandQueueWithProperties = make_queue;
  result.clRetainCommandQueue = keep_queue;
  result.clReleaseCommandQueue = keep_queue;
  result.clFinish = finish;
  result.clSVMAlloc = allocate;
  result.clSVMFree = release;
  result.clEnqueueSVMMemcpy = copy;
  result.clCreateProgramWithIL = make_program;
  result.clBuildProgram = build;
  result.clGetProgramBuildInfo = build_info;
  result.clReleaseProgram = release_program;
  return result;
}

cl_icd_dispatch table = make_table();

}  // namespace

extern "C" __attribute__((visibility("default"))) void* clGetExtensionFunctionAddress(const char* name) {
  const std::string wanted = name;
  if (wanted == "clIcdGetPlatformIDsKHR") return reinterpret_cast<void*>(get_platforms);
  if (wanted == "clGetPlatformInfo") return reinterpret_cast<void*>(platform_info);
  return nullptr;
}
extern "C" __attribute__((visibility("default"))) cl_int clIcdGetPlatformIDsKHR(cl_uint count,
                                                                                cl_platform_id* platforms,
                                                                                cl_uint* found) {
  return get_platforms(count, platforms, found);
}
