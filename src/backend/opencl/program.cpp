// SPDX-License-Identifier: BSD-3-Clause
#include "backend/opencl/program.hpp"

#include "support/hash.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace echelon::opencl {

namespace {

using Bytes = std::span<const unsigned char>;

std::uint64_t hash_of(Bytes bytes) {
  std::uint64_t hash = golden_ratio_64 + bytes.size();
  for (const unsigned char byte : bytes) hash = hash_bits(hash ^ byte) + golden_ratio_64;
  return hash;
}
std::uint64_t hash_of(std::string_view text) {
  return hash_of(Bytes(reinterpret_cast<const unsigned char*>(text.data()), text.size()));
}

const char* build_options(const DriverDevice& device) {
  if (device.form == ModuleForm::bitcode) return "-x spir -spir-std=1.2";
  return device.rounds_floats ? "-cl-fp32-correctly-rounded-divide-sqrt" : "";
}

/// Hashes of the module, and of the device, its driver and the options.
std::string file_name(const DriverDevice& device, const Module& module) {
  const OpenClDeviceInfo& info = device.info;
  const std::string driver =
      fmt::format("{}\n{}\n{}\n{}", info.platform, info.name, info.driver, build_options(device));
  return fmt::format("{:016x}-{:016x}.bin", hash_of(module.spirv), hash_of(driver));
}

std::string build_log(cl_program program, const DriverDevice& device) {
  std::size_t size = 0;
  if (clGetProgramBuildInfo(program, device.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) != CL_SUCCESS)
    return {};
  std::string log(size, '\0');
  clGetProgramBuildInfo(program, device.id, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  log.resize(std::min(log.find('\0'), log.size()));
  return log;
}

cl_program make_from_binary(cl_context context, const DriverDevice& device, Bytes binary, cl_int* status) {
  const std::size_t size = binary.size();
  const unsigned char* bytes = binary.data();
  return clCreateProgramWithBinary(context, 1, &device.id, &size, &bytes, nullptr, status);
}

/// The program of a file, or null if the driver does not take it.
cl_program load(cl_context context, const DriverDevice& device, const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (bytes.empty()) return nullptr;
  cl_int status = CL_SUCCESS;
  const cl_program program = make_from_binary(
      context, device, {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()}, &status);
  if (status != CL_SUCCESS) return nullptr;
  if (clBuildProgram(program, 1, &device.id, build_options(device), nullptr, nullptr) == CL_SUCCESS)
    return program;
  clReleaseProgram(program);
  return nullptr;
}

/// Writes the program to a file of its own, which then gets the name: other processes see all of it or
/// nothing.
void store(cl_program program, const std::filesystem::path& path) {
  std::size_t size = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr) != CL_SUCCESS) return;
  std::vector<unsigned char> bytes(size);
  unsigned char* target = bytes.data();
  if (size == 0 || clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(target), static_cast<void*>(&target),
                                    nullptr) != CL_SUCCESS)
    return;
  std::error_code failure;
  std::filesystem::create_directories(path.parent_path(), failure);
  std::filesystem::path part = path;
  part += fmt::format(".{}", getpid());
  std::ofstream file(part, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(size));
  file.close();
  if (file.good()) {
    std::filesystem::rename(part, path, failure);
  } else {
    std::filesystem::remove(part, failure);
  }
}

cl_program make(cl_context context, const DriverDevice& device, const Module& module) {
  cl_int status = CL_SUCCESS;
  cl_program program = nullptr;
  if (device.form == ModuleForm::spirv) {
    program = clCreateProgramWithIL(context, module.spirv.data(), module.spirv.size(), &status);
    check(status, "clCreateProgramWithIL");
  } else {
    program = make_from_binary(context, device, module.bitcode, &status);
    check(status, "clCreateProgramWithBinary");
  }
  return program;
}

}  // namespace

cl_program build_program(cl_context context, const DriverDevice& device, const Module& module,
                         const std::filesystem::path& folder) {
  const bool is_kept = device.form == ModuleForm::spirv && !folder.empty();
  const std::filesystem::path path = is_kept ? folder / file_name(device, module) : std::filesystem::path();
  if (is_kept) {
    const cl_program kept = load(context, device, path);
    if (kept != nullptr) return kept;
  }
  const cl_program program = make(context, device, module);
  const cl_int status = clBuildProgram(program, 1, &device.id, build_options(device), nullptr, nullptr);
  if (status != CL_SUCCESS) {
    const std::string log = build_log(program, device);
    clReleaseProgram(program);
    throw OpenClError(fmt::format("the OpenCL driver {} {} could not build a program for {} ({}): {}",
                                  device.info.platform, device.info.driver, device.info.name,
                                  error_name(status), log.empty() ? "it gives no reason" : log));
  }
  if (is_kept) store(program, path);
  return program;
}

std::filesystem::path program_folder() {
  if (const char* own = std::getenv("ECHELON_CACHE_DIR")) return own;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return std::filesystem::path(cache) / "echelon";
  if (const char* home = std::getenv("HOME")) return std::filesystem::path(home) / ".cache" / "echelon";
  return {};
}

}  // namespace echelon::opencl
