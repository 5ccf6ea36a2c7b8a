// SPDX-License-Identifier: BSD-3-Clause
#include "backend/opencl/driver.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace echelon::opencl {

namespace {

std::string text(cl_device_id device, cl_device_info name) {
  std::size_t size = 0;
  if (clGetDeviceInfo(device, name, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string value(size, '\0');
  if (clGetDeviceInfo(device, name, size, value.data(), nullptr) != CL_SUCCESS) return {};
  value.resize(value.find('\0'));
  return value;
}

std::string name_of(cl_platform_id platform) {
  std::size_t size = 0;
  if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string value(size, '\0');
  if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, value.data(), nullptr) != CL_SUCCESS) return {};
  value.resize(value.find('\0'));
  return value;
}

/// Zero if the driver does not know the property.
template <class V>
V property(cl_device_id device, cl_device_info name) {
  V value{};
  if (clGetDeviceInfo(device, name, sizeof(V), &value, nullptr) != CL_SUCCESS) return V{};
  return value;
}

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

ModuleForm form_of(cl_device_id device, std::string_view extensions) {
  if (text(device, CL_DEVICE_IL_VERSION).find("SPIR-V") != std::string::npos) return ModuleForm::spirv;
  return has_word(extensions, "cl_khr_spir") ? ModuleForm::bitcode : ModuleForm::none;
}

std::string refusal_of(const DriverDevice& device, std::string_view extensions) {
  if (property<cl_device_fp_config>(device.id, CL_DEVICE_DOUBLE_FP_CONFIG) == 0)
    return "it has no double precision (cl_khr_fp64)";
  const auto shared = property<cl_device_svm_capabilities>(device.id, CL_DEVICE_SVM_CAPABILITIES);
  if ((shared & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0) return "it has no shared virtual memory";
  if (!has_word(extensions, "cl_khr_int64_base_atomics"))
    return "it has no atomic operations on 64-bit integers (cl_khr_int64_base_atomics)";
  if (device.form == ModuleForm::none) return "its driver takes neither SPIR-V nor SPIR 1.2";
  if (property<cl_bool>(device.id, CL_DEVICE_AVAILABLE) == CL_FALSE) return "it is not available";
  return {};
}

DriverDevice describe(cl_platform_id platform, cl_device_id id) {
  const std::string extensions = text(id, CL_DEVICE_EXTENSIONS);
  DriverDevice device{.platform = platform, .id = id, .info = {}};
  device.form = form_of(id, extensions);
  device.is_processor = (property<cl_device_type>(id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  device.rounds_floats = (property<cl_device_fp_config>(id, CL_DEVICE_SINGLE_FP_CONFIG) &
                          CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  device.memory = property<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  device.largest_part = property<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  device.group_size = property<std::size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  device.info = {name_of(platform), text(id, CL_DEVICE_NAME), text(id, CL_DRIVER_VERSION),
                 refusal_of(device, extensions)};
  return device;
}

std::vector<DriverDevice> list_devices() {
  cl_uint platform_count = 0;
  if (clGetPlatformIDs(0, nullptr, &platform_count) != CL_SUCCESS) return {};
  std::vector<cl_platform_id> platforms(platform_count);
  if (clGetPlatformIDs(platform_count, platforms.data(), nullptr) != CL_SUCCESS) return {};
  std::vector<DriverDevice> devices;
  for (cl_platform_id platform : platforms) {
    cl_uint count = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(count);
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr) != CL_SUCCESS) continue;
    for (cl_device_id id : ids) devices.push_back(describe(platform, id));
  }
  std::stable_sort(devices.begin(), devices.end(), [](const DriverDevice& a, const DriverDevice& b) {
    const auto rank = [](const DriverDevice& device) {
      return (device.info.refusal.empty() ? 0 : 2) + (device.is_processor ? 1 : 0);
    };
    return rank(a) < rank(b);
  });
  return devices;
}

}  // namespace

const std::vector<DriverDevice>& driver_devices() {
  // Not destroyed: queues of threads use it until the process ends.
  static const auto* const devices = new std::vector<DriverDevice>(list_devices());
  return *devices;
}

const DriverDevice& usable_device(int number) {
  const std::vector<DriverDevice>& devices = driver_devices();
  const auto place = static_cast<std::size_t>(number);
  if (devices.empty()) {
    throw NoDevice(
        "no OpenCL driver was found (`clinfo -l` lists them; on Debian, the package pocl-opencl-icd has one "
        "for processors): use device openmp");
  }
  if (place >= devices.size()) {
    throw NoDevice(fmt::format("there is no OpenCL device {}: this machine has {}, numbered from 0", number,
                               devices.size()));
  }
  const DriverDevice& device = devices[place];
  if (device.info.refusal.empty()) return device;
  throw NoDevice(fmt::format("OpenCL device {}, {} ({}), cannot be used: {}", number, device.info.name,
                             device.info.platform, device.info.refusal));
}

}  // namespace echelon::opencl
